// Translates a server entry of another client into the keys of Toolshelf's own file. Expands no references, so that the
// result can be written to a file.
import { type Fields, isFields } from '@toolshelf/core/internal'

type Respell = (value: unknown) => Fields

const deny: Respell = (value) => ({ deny: value })
/** Converts a list of allowed tools; in other clients an empty one allows none. */
const allow: Respell = (value) =>
  Array.isArray(value) && value.length === 0 ? { deny: ['*'] } : { allow: value }
const url: Respell = (value) => ({ url: value })
const type: Respell = (value) => ({ type: typeName(value) })

/** Keys of other clients, and Toolshelf's own keys that other clients use differently. */
const spellings: { readonly [key: string]: Respell } = {
  type,
  transport: type,
  transportType: type,
  // Windsurf
  serverUrl: url,
  disabledTools: deny,
  // Gemini CLI
  httpUrl: (value) => ({ url: value, type: 'http' }),
  includeTools: allow,
  excludeTools: deny,
  timeout: timeouts,
  // Codex
  http_headers: (value) => ({ headers: value }),
  env_http_headers: (value) => ({ headers: isFields(value) ? referencesTo(value) : value }),
  bearer_token_env_var: (value) => ({ headers: { Authorization: `Bearer \${${String(value)}}` } }),
  env_vars: (value) => ({ env: Array.isArray(value) ? passedOn(value) : value }),
  startup_timeout_sec: (value) => ({ connectTimeout: inMilliseconds(value) }),
  startup_timeout_ms: (value) => ({ connectTimeout: value }),
  tool_timeout_sec: (value) => ({ callTimeout: inMilliseconds(value) }),
  enabled: (value) => ({ disabled: typeof value === 'boolean' ? !value : value }),
  enabled_tools: allow,
  disabled_tools: deny,
  // opencode has the command as a list, older Zed as an object, Copilot the tools as a list
  environment: (value) => ({ env: value }),
  command: commands,
  tools: (value) =>
    Array.isArray(value) ? allow(value) : isFields(value) ? withoutApprovals(value) : { tools: value },
}

/** Leaves out Codex's approvals of single tools, which only its own prompts read. */
function withoutApprovals(tools: Fields): Fields {
  const left = Object.entries(tools).flatMap(([name, settings]) => {
    if (!isFields(settings) || !('approval_mode' in settings)) return [[name, settings]]
    const { approval_mode: _, ...others } = settings
    return Object.keys(others).length > 0 ? [[name, others]] : []
  })
  return left.length > 0 ? { tools: Object.fromEntries(left) } : {}
}

/** Keys that mean something only inside their client: approvals, display, development. */
const ignored = new Set(
  `trust autoApprove alwaysAllow authProviderType targetAudience targetServiceAccount extension
  oauth_resource required supports_parallel_tool_calls omit_tools_from default_tools_approval_mode environment_id
  name dev gallery version sandbox source remote settings icon`.split(/\s+/),
)

/** Keys that change how a server runs in a way that is not supported here. */
const unsupported: { readonly [key: string]: string } = {
  envFile: 'the file is not read; put its variables into "env".',
  headersHelper: 'the helper is not run; put the headers into "headers".',
  http_headers_helper: 'the helper is not run; put the headers into "headers".',
  sandboxEnabled: 'the server runs without a sandbox.',
  oauth: 'these settings are not used; Toolshelf signs in with a registration of its own.',
  scopes: 'these scopes are not used; a login asks for those that the server names.',
  auth: 'these settings are not used; Toolshelf signs in with a registration of its own.',
  trustAnnotations:
    'an entry cannot say whom you trust. If you trust what this server says about its tools, add "readonly:<server>" to "allow" in your permissions.json.',
}

/** Keys that only other clients use. */
export const foreignKeys: readonly string[] = Object.keys(spellings)

/** Translates an entry; reports keys that are not supported. */
export function translate(entry: Fields): { readonly fields: Fields; readonly problems: readonly string[] } {
  const fields = new Map<string, unknown>()
  const problems: string[] = []
  for (const [key, value] of Object.entries(entry)) {
    if (value === null || ignored.has(key)) continue
    if (Object.hasOwn(unsupported, key)) {
      if (isInUse(key, value)) problems.push(`"${key}": ${unsupported[key]}`)
      continue
    }
    const respelled = Object.hasOwn(spellings, key) ? spellings[key]?.(value) : { [key]: value }
    for (const [name, part] of Object.entries(respelled ?? {}))
      fields.set(name, joined(fields.get(name), part))
  }
  return { fields: Object.fromEntries(fields), problems }
}

/**
 * Returns whether an unsupported key matters: Codex's `auth = "oauth"`, opencode's `oauth: false` and an empty list of scopes
 * are the default.
 */
function isInUse(key: string, value: unknown): boolean {
  if (key === 'scopes') return !Array.isArray(value) || value.length > 0
  return key === 'oauth' || key === 'auth' ? isFields(value) : value !== false
}

function joined(first: unknown, second: unknown): unknown {
  if (isFields(first) && isFields(second)) return { ...first, ...second }
  if (Array.isArray(first) && Array.isArray(second)) return [...first, ...second]
  return second ?? first
}

function typeName(value: unknown): unknown {
  if (value === 'local') return 'stdio'
  if (value === 'remote') return 'auto'
  return typeof value === 'string' && /^streamable[-_]?http$/i.test(value) ? 'http' : value
}

function commands(value: unknown): Fields {
  if (Array.isArray(value)) {
    const [command, ...args] = value
    return { command, args }
  }
  if (!isFields(value)) return { command: value }
  const { path, args, env } = value
  return { command: path, args, env }
}

/** Converts a timeout: they are milliseconds, but Zed and others use seconds, so small values are read as seconds. */
function timeouts(value: unknown): Fields {
  if (isFields(value)) return { connectTimeout: value.startup, callTimeout: value.request }
  return { callTimeout: typeof value === 'number' && value < 1000 ? value * 1000 : value }
}

const inMilliseconds = (value: unknown) => (typeof value === 'number' ? value * 1000 : value)

function referencesTo(variables: Fields): Fields {
  return Object.fromEntries(Object.entries(variables).map(([name, variable]) => [name, `\${${variable}}`]))
}

/** Returns references to variables of Toolshelf's environment that the server should get; empty for those not set. */
function passedOn(variables: readonly unknown[]): Fields {
  const names = variables.map((variable) => (isFields(variable) ? variable.name : variable))
  return Object.fromEntries(names.map((name) => [String(name), `\${${name}:-}`]))
}
