// `toolshelf doctor --ci`: checks the definitions of servers or of a catalogue by rules, for continuous integration.
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import type { Tool } from '../../core/index.ts'
import { isFields } from '../../lib/index.ts'
import {
  type LintedServer,
  type LintFinding,
  type LintReport,
  lint,
  lintView,
  toJunit,
  toSarif,
} from '../../lint/index.ts'
import type { LintSettings, ListedTool, LoadedConfig, ServerConfig, ServerStatus } from '../../mcp/index.ts'
import { rankers, whenIndexed } from '../../rankers/index.ts'
import { printableLine } from '../../terminal/index.ts'
import {
  type ExitCode,
  getCurrentFolder,
  type Input,
  type Option,
  type Terminal,
  UsageError,
} from '../command.ts'
import { toSafeJson, writeTo } from '../output.ts'
import { readTools } from '../tools/index.ts'
import { version } from '../version.ts'

const FAIL_ON = ['error', 'warning', 'never'] as const

/** Options of `doctor --ci`. */
export const ciOptions: { readonly [name: string]: Option } = {
  ci: {
    type: 'boolean',
    about: 'check descriptions, confusable tools, budgets, suspicious texts and pins; exit code 1 on errors',
  },
  'fail-on': {
    type: 'string',
    value: 'level',
    values: FAIL_ON,
    about: 'with --ci: what makes the exit code 1 (default: error)',
  },
  budget: {
    type: 'string',
    value: 'tokens',
    about: 'with --ci: most tokens that the definitions of a server may take',
  },
  sarif: { type: 'string', value: 'file', about: 'with --ci: also write SARIF 2.1.0, for code hosts' },
  junit: { type: 'string', value: 'file', about: 'with --ci: also write JUnit XML, for test reports' },
}

/** The values of these options. */
export type CiChoices = {
  readonly failOn: (typeof FAIL_ON)[number]
  readonly budget: number | undefined
  readonly sarif: string | undefined
  readonly junit: string | undefined
  readonly isJson: boolean
}

/** Reads the options; returns undefined without `--ci`. */
export function readCi(input: Input): CiChoices | undefined {
  const [failOn = 'error', budget, sarif, junit] = ['fail-on', 'budget', 'sarif', 'junit'].map(input.text)
  if (!input.isSet('ci')) {
    const alone = Object.keys(ciOptions).find((option) => input.text(option) !== undefined)
    if (alone !== undefined) throw new UsageError(`--${alone} needs --ci.`)
    return undefined
  }
  const level = FAIL_ON.find((one) => one === failOn)
  if (!level) throw new UsageError(`--fail-on is "${failOn}"; use one of ${FAIL_ON.join(', ')}.`)
  if (budget !== undefined && !/^[1-9]\d{0,8}$/.test(budget))
    throw new UsageError(`--budget is "${budget}"; use a number of tokens, such as 20000.`)
  for (const [option, file] of [
    ['sarif', sarif],
    ['junit', junit],
  ] as const)
    if (file === '') throw new UsageError(`--${option} is empty; pass a file.`)
  if (input.text('html') !== undefined)
    throw new UsageError('--html does not go with --ci; use --sarif or --junit.')
  return {
    failOn: level,
    sarif,
    junit,
    isJson: input.isSet('json'),
    budget: budget === undefined ? undefined : Number(budget),
  }
}

/** Servers that were started and listed. */
export type ListedServers = {
  readonly statuses: readonly ServerStatus[]
  readonly config: LoadedConfig
  /** Servers of a folder that is not trusted, which were not started. */
  readonly untrusted: readonly { readonly name: string }[]
  readonly changed: ReadonlyMap<string, readonly string[]>
}

/** Checks the tools of servers; returns the exit code. */
export async function checkServers(
  { statuses, config, untrusted, changed }: ListedServers,
  choices: CiChoices,
  terminal: Terminal,
  width: number,
): Promise<ExitCode> {
  for (const { name } of untrusted)
    terminal.report(printableLine(`Not checked: ${name}: this folder is not trusted (--trust-project).`))
  const texts = new Map<string, string>()
  for (const { source } of config.servers)
    if (!texts.has(source)) texts.set(source, await readFile(source, 'utf8').catch(() => ''))
  const servers = statuses
    .filter(({ state }) => state !== 'disabled')
    .map(({ name, state, reason, tools, instructions, config: own }): LintedServer => {
      const failure =
        state === 'failed' || state === 'pending' ? (reason ?? 'it did not start in time') : undefined
      return {
        ...{
          name,
          tools,
          instructions,
          failure,
          source: own.source,
          line: lineOf(own.original ?? name, texts.get(own.source) ?? ''),
        },
        ...settingsOf(own),
        changed: changed.get(name) ?? [],
      }
    })
  const problems = config.problems.filter(({ unset }) => unset === undefined)
  const settings = settingsFor(config.lint, choices)
  return finish(await lint(servers, { judges, settings, problems }), choices, terminal, width)
}

/** A catalogue as `doctor --catalog` writes it, and the configuration whose settings apply to its servers. */
export type CheckedCatalog = { readonly file: string; readonly config: LoadedConfig }

/** Checks the tools of a catalogue; nothing is started. */
export async function checkCatalog(
  { file, config }: CheckedCatalog,
  choices: CiChoices,
  terminal: Terminal,
  width: number,
): Promise<ExitCode> {
  const tools = await readTools(file, terminal)
  const lines = toolLines(await readFile(file, 'utf8'))
  const names = new Set(tools.map(({ server = '' }) => server))
  const servers = [...names].map((name): LintedServer => {
    const own = tools.filter(({ server = '' }) => server === name)
    const numbered = own.flatMap((tool) => {
      const line = lines.get(JSON.stringify([tool.server, tool.name]))
      return line === undefined ? [] : [[tool.name, line] as const]
    })
    const configured = config.servers.find((server) => server.name === name)
    const settings = configured ? settingsOf(configured) : {}
    return { name, tools: own.map(asListed), source: file, lines: new Map(numbered), ...settings }
  })
  const problems = config.problems.filter(({ unset }) => unset === undefined)
  const settings = settingsFor(config.lint, choices)
  return finish(await lint(servers, { judges, settings, problems }), choices, terminal, width)
}

/** What the configuration says about checking a server and its tools. */
function settingsOf({
  lint: settings,
  tools,
}: ServerConfig): Pick<LintedServer, 'settings' | 'toolSettings'> {
  return {
    settings,
    toolSettings: Object.fromEntries(Object.entries(tools).map(([tool, one]) => [tool, one.lint])),
  }
}

const judges = { hybrid: whenIndexed(rankers.hybrid), lexical: rankers.lexical }

/** Adds the budget of `--budget`, unless the configuration has its own, which is more specific. */
function settingsFor(base: LintSettings | undefined, { budget }: CiChoices): LintSettings {
  return { ...base, budget: { ...(budget === undefined ? {} : { tokens: budget }), ...base?.budget } }
}

function asListed({ input_schema: schema, ...tool }: Tool): ListedTool {
  return { ...tool, ...(schema === undefined ? {} : { inputSchema: schema }) } as ListedTool
}

/** The line of each tool in a catalogue, by server and name; the first one counts. */
function toolLines(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  for (const [index, line] of text.split('\n').entries()) {
    try {
      const tool: unknown = JSON.parse(line.replace(/^\uFEFF/, ''))
      const key = isFields(tool) ? JSON.stringify([tool.server, tool.name]) : undefined
      if (key !== undefined && !lines.has(key)) lines.set(key, index + 1)
    } catch {
      // Reported when the tools were read.
    }
  }
  return lines
}

/** The line on which a configuration names a server, in JSON or TOML. */
function lineOf(name: string, text: string): number | undefined {
  const key = JSON.stringify(name)
  const at = text.split('\n').findIndex((line) => {
    const trimmed = line.trim()
    const isJson =
      line.includes(key) &&
      line
        .slice(line.indexOf(key) + key.length)
        .trimStart()
        .startsWith(':')
    return isJson || trimmed === `[mcp_servers.${name}]` || trimmed === `[mcp_servers.${key}]`
  })
  return at < 0 ? undefined : at + 1
}

async function finish(
  report: LintReport,
  choices: CiChoices,
  terminal: Terminal,
  width: number,
): Promise<ExitCode> {
  const { failOn, sarif, junit, isJson } = choices
  const fails = ({ level }: LintFinding) => failOn !== 'never' && (level === 'error' || failOn === 'warning')
  terminal.print(isJson ? toSafeJson(report) : lintView(report, { width }))
  if (sarif !== undefined) {
    const log = toSarif(report, { version: version(), uriOf: uriFrom(getCurrentFolder()) })
    await writeTo(sarif, `${JSON.stringify(log, null, 2)}\n`)
  }
  if (junit !== undefined) await writeTo(junit, toJunit(report, fails))
  const isFailed = failOn !== 'never' && (report.errors > 0 || (failOn === 'warning' && report.warnings > 0))
  return isFailed ? 1 : 0
}

/** A path from the current folder, as code hosts need it; one outside of it stays absolute. */
function uriFrom(folder: string): (file: string) => string {
  return (file) => {
    const path = relative(folder, file) || file
    const isInside = !path.startsWith('..')
    const parts = (isInside ? path : file).split(/[\\/]/).map(encodeURIComponent).join('/')
    return isInside ? parts : `file://${parts}`
  }
}
