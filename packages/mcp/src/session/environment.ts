// Chooses the environment variables of a server process: what any program of its user needs, and what its entry names.
// Implements H12.
import { posix, win32 } from 'node:path'
import type { StdioConfig } from '../types.ts'

/** Where the variables come from. Default: this process. */
type EnvironmentSource = {
  readonly environment?: NodeJS.ProcessEnv
  readonly platform?: NodeJS.Platform
  /** The path of our own Node; programs beside it, such as `npx`, are found last. */
  readonly program?: string
}

/** Names in upper case, of all platforms; proxies are often written in lower case. */
const COMMON: ReadonlySet<string> = new Set([
  // The user, the shell and the system.
  ...['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'],
  ...['APPDATA', 'COMSPEC', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'NUMBER_OF_PROCESSORS', 'PATHEXT'],
  ...['PROCESSOR_ARCHITECTURE', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)', 'PROGRAMW6432'],
  ...['SYSTEMDRIVE', 'SYSTEMROOT', 'USERNAME', 'USERPROFILE', 'WINDIR'],
  // The language, the time zone and temporary folders.
  ...['LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TMP', 'TEMP'],
  // Proxies and certificates.
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'NODE_USE_ENV_PROXY', 'NODE_USE_SYSTEM_CA'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
  // The SSH agent and the desktop.
  ...['SSH_AUTH_SOCK', 'DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'DBUS_SESSION_BUS_ADDRESS'],
])
const PREFIX = /^(?:LC_|XDG_|NPM_CONFIG_)/
const CREDENTIAL = /^NPM_CONFIG_.*(?:AUTH|PASS|TOKEN|SECRET|USERNAME|KEY)/
/** Our own variables may hold keys of the gateway and of its store. */
const OWN = /^TOOLSHELF_/

export function serverEnvironment(
  { env, inheritEnv = [] }: Pick<StdioConfig, 'env' | 'inheritEnv'>,
  {
    environment = process.env,
    platform = process.platform,
    program = process.execPath,
  }: EnvironmentSource = {},
): { [name: string]: string } {
  const isWindows = platform === 'win32'
  /** Windows knows one variable by a name in any case. */
  const keyOf = (name: string) => (isWindows ? name.toUpperCase() : name)
  const named = new Set(inheritEnv === true ? [] : inheritEnv.map(keyOf))
  const chosen = new Map<string, readonly [name: string, value: string]>()
  for (const [name, value] of Object.entries(environment)) {
    const isWanted = inheritEnv === true || named.has(keyOf(name)) || isCommon(name.toUpperCase())
    // A value that begins with `()` is a function of a shell.
    if (value === undefined || value.startsWith('()') || OWN.test(name.toUpperCase()) || !isWanted) continue
    chosen.set(keyOf(name), [name, value])
  }
  const [pathName, path] = chosen.get('PATH') ?? ['PATH', '']
  chosen.set('PATH', [pathName, withFolderOf(program, path, isWindows ? win32 : posix)])
  for (const [name, value] of Object.entries(env)) chosen.set(keyOf(name), [name, value])
  return Object.fromEntries(chosen.values())
}

function isCommon(name: string): boolean {
  return COMMON.has(name) || (PREFIX.test(name) && !CREDENTIAL.test(name))
}

/** Adds the folder of a program at the end, unless it is there. */
function withFolderOf(program: string, path: string, { delimiter, dirname }: typeof posix): string {
  const folders = path.split(delimiter).filter((folder) => folder !== '')
  const own = dirname(program)
  return folders.includes(own) ? path : [...folders, own].join(delimiter)
}
