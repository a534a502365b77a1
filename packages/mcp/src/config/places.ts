// Lists where each client stores its server configuration, and where Toolshelf's own is.
// Implements H1, H7.
import { realpathSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { posix, win32 } from 'node:path'
import type { Environment } from '@toolshelf/core/internal'

/** Everything read from the machine: environment, folders, platform. */
export type LocalMachine = {
  readonly home: string
  readonly folder: string
  /** Decides where clients keep their files. */
  readonly platform: NodeJS.Platform
  /** Variables that references in configurations expand to. */
  readonly environment: Environment
  /** How to start this Toolshelf without `PATH`: the absolute paths of Node and the script. */
  readonly program?: readonly [node: string, script: string]
}

export type ConfigPlace = {
  readonly client: string
  readonly file: string
  /** Whether it belongs to the current folder, so that someone else may have written it. */
  readonly isProject: boolean
}

/** Describes the machine that this process runs on. */
export function thisMachine(): LocalMachine {
  const { platform, env: environment } = process
  const machine = { home: folderOf(homedir), folder: folderOf(process.cwd), platform, environment }
  const script = ownScript()
  return script === undefined ? machine : { ...machine, program: [process.execPath, script] }
}

/** Returns the running script, with symbolic links such as npm's `bin` resolved. */
function ownScript(): string | undefined {
  try {
    return realpathSync(process.argv[1] ?? '')
  } catch {
    return undefined
  }
}

/** Returns a folder; the temporary one if the user has no home, or the current folder was deleted. */
function folderOf(find: () => string): string {
  try {
    return find()
  } catch {
    return tmpdir()
  }
}

/** Lists the files of every known client, whether they exist or not; the user's own first. */
export function configPlaces(machine: LocalMachine): readonly ConfigPlace[] {
  const user = userPlaces(machine).map(([client, file]) => ({ client, file, isProject: false }))
  const project = projectPlaces(machine).map(([client, file]) => ({ client, file, isProject: true }))
  const places = [...user, ...project]
  return places.filter(({ file }, index) => places.findIndex((other) => other.file === file) === index)
}

type Place = readonly [client: string, file: string]

function userPlaces(machine: LocalMachine): Place[] {
  const { home, environment } = machine
  const { join } = pathsOf(machine)
  const applications = applicationFolder(machine)
  const config = configFolder(machine)
  const isWindows = machine.platform === 'win32'
  const zed = isWindows ? join(applications, 'Zed') : join(config, 'zed')
  const devin = join(isWindows ? applications : config, 'devin')
  return [
    ['Claude Code', join(environment.CLAUDE_CONFIG_DIR || home, '.claude.json')],
    ...claudeDesktopFolders(machine).map(
      (folder): Place => ['Claude Desktop', join(folder, 'claude_desktop_config.json')],
    ),
    ['Cursor', join(home, '.cursor', 'mcp.json')],
    ['VS Code', join(applications, 'Code', 'User', 'mcp.json')],
    ['VS Code', join(applications, 'Code', 'User', 'settings.json')],
    ['VS Code Insiders', join(applications, 'Code - Insiders', 'User', 'mcp.json')],
    ['Windsurf', join(home, '.codeium', 'windsurf', 'mcp_config.json')],
    ['Windsurf', join(home, '.codeium', 'mcp_config.json')],
    ['Devin Desktop', join(devin, 'mcp_config.json')],
    ['Cline', join(home, '.cline', 'data', 'settings', 'cline_mcp_settings.json')],
    ['Cline', join(applications, 'Code', 'User', ...clineInVsCode)],
    ['Codex', join(environment.CODEX_HOME || join(home, '.codex'), 'config.toml')],
    ['Gemini CLI', join(home, '.gemini', 'settings.json')],
    ['Qwen Code', join(home, '.qwen', 'settings.json')],
    ['Copilot CLI', join(environment.COPILOT_HOME || join(home, '.copilot'), 'mcp-config.json')],
    ['opencode', join(config, 'opencode', 'opencode.json')],
    ['opencode', join(config, 'opencode', 'opencode.jsonc')],
    ['Zed', join(zed, 'settings.json')],
  ]
}

/**
 * Returns the folders of Claude Desktop. Windows redirects that of a packaged (MSIX) app, which then does not read the
 * ordinary one.
 */
function claudeDesktopFolders(machine: LocalMachine): string[] {
  const { join } = pathsOf(machine)
  const ordinary = join(applicationFolder(machine), 'Claude')
  if (machine.platform !== 'win32') return [ordinary]
  const local = machine.environment.LOCALAPPDATA || join(machine.home, 'AppData', 'Local')
  return [ordinary, join(local, 'Packages', 'Claude_pzs8sxrjxfjjc', 'LocalCache', 'Roaming', 'Claude')]
}

const clineInVsCode = ['globalStorage', 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json']

function projectPlaces(machine: LocalMachine): Place[] {
  const inProject = (...names: string[]) => pathsOf(machine).join(machine.folder, ...names)
  return [
    ['Claude Code', inProject('.mcp.json')],
    ['Cursor', inProject('.cursor', 'mcp.json')],
    ['VS Code', inProject('.vscode', 'mcp.json')],
    ['Devin Desktop', inProject('.devin', 'mcp_config.json')],
    ['Codex', inProject('.codex', 'config.toml')],
    ['Gemini CLI', inProject('.gemini', 'settings.json')],
    ['opencode', inProject('opencode.json')],
    ['opencode', inProject('opencode.jsonc')],
    ['Zed', inProject('.zed', 'settings.json')],
  ]
}

/** Returns the file that `toolshelf connect` writes and `toolshelf mcp` reads. */
export function ownConfigFile(machine: LocalMachine): string {
  return pathsOf(machine).join(configFolder(machine), 'toolshelf', 'toolshelf.json')
}

/** Returns the user's own configuration, used in every folder. A gateway that a client starts reads nothing else. */
export function userConfigFiles(machine: LocalMachine): readonly string[] {
  return [ownConfigFile(machine)]
}

/**
 * Returns files of the current folder that configure servers, without the user's own. Untrusted: they came with the folder,
 * so nothing in them may be started, sent or expanded before the user has trusted their content.
 */
export function projectConfigFiles(machine: LocalMachine): readonly string[] {
  const names = ['toolshelf.json', '.mcp.json']
  const own = ownConfigFile(machine)
  return names.map((name) => pathsOf(machine).join(machine.folder, name)).filter((file) => file !== own)
}

export async function existingFiles(files: readonly string[]): Promise<string[]> {
  const exists = await Promise.all(
    files.map((file) =>
      access(file).then(
        () => true,
        () => false,
      ),
    ),
  )
  return files.filter((_, index) => exists[index])
}

const pathsOf = ({ platform }: LocalMachine) => (platform === 'win32' ? win32 : posix)

/** Returns `$XDG_CONFIG_HOME`, else `~/.config`, on every system. */
function configFolder(machine: LocalMachine): string {
  const { isAbsolute, join } = pathsOf(machine)
  const { XDG_CONFIG_HOME: config } = machine.environment
  return config !== undefined && isAbsolute(config) ? config : join(machine.home, '.config')
}

/** Returns where desktop applications store their settings. */
function applicationFolder(machine: LocalMachine): string {
  const { join } = pathsOf(machine)
  const { home, platform, environment } = machine
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  if (platform === 'win32') return environment.APPDATA || join(home, 'AppData', 'Roaming')
  return configFolder(machine)
}
