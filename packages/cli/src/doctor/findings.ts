// Derives findings from a report: what is wrong or could be better, and what to do about it.
import { dollars, groupBy } from '@toolshelf/core/internal'
import { lastLinesWithError } from '@toolshelf/mcp/internal'
import { count, counted, linesOf } from '../terminal/pen.ts'
import type { Report, ReportedProblem, ServerReport } from './report.ts'

/** How serious a finding is. */
export type Level = 'error' | 'warning' | 'note'

/** One finding of the doctor, as shown to the user. */
export type Finding = {
  readonly level: Level
  readonly server: string | undefined
  readonly title: string
  readonly details: readonly string[]
  /** Missing if a later finding has the same remedy. */
  readonly remedy?: string
}

const MAX_STDERR = 6

/** Errors first, then warnings, then notes; findings with the same remedy are grouped, and it is shown once. */
export function findingsOf(report: Report): readonly Finding[] {
  const all = [...report.servers.flatMap(findingsOfServer), ...findingsOfAll(report)]
  return (['error', 'warning', 'note'] as const).flatMap((level) => {
    const ofLevel = all.filter((one) => one.level === level)
    return [...groupBy(ofLevel, ({ remedy }) => remedy).values()].flatMap(remedyOnce)
  })
}

function remedyOnce(findings: readonly Finding[]): Finding[] {
  return findings.map(({ remedy, ...finding }, index) => {
    if (index < findings.length - 1) return finding
    return { ...finding, remedy: `${findings.length > 1 ? `All ${findings.length}: ` : ''}${remedy}` }
  })
}

function findingsOfServer(server: ServerReport): Finding[] {
  return [
    notConnected(server),
    notTrusted(server),
    changed(server),
    idle(server),
    ...problemsOf(server),
    worthAlwaysLoading(server),
  ].filter((one) => one !== undefined)
}

function findingsOfAll(report: Report): Finding[] {
  return [
    ...misconfigured(report),
    ...[shared(report), notWorthIt(report), savesNoMoney(report), deferredAlready(report)],
  ].filter((one) => one !== undefined)
}

function misconfigured({ configProblems }: Report): Finding[] {
  return [...groupBy(configProblems, ({ file }) => file)].map(([file, problems]) => ({
    level: 'warning',
    server: undefined,
    title: `${counted(problems.length, 'problem')} in ${file}`,
    details: problems.map(({ server, message }) =>
      server === undefined ? message : `${server}: ${message}`,
    ),
    remedy: 'Correct the file and run the doctor again.',
  }))
}

function notConnected({ name, state, reason, stderr, source, transport }: ServerReport): Finding | undefined {
  if (state !== 'failed' && state !== 'pending') return undefined
  const written = stderr.split(/[\r\n]+/).filter((line) => line.trim() !== '')
  const lines = linesOf(lastLinesWithError(written, MAX_STDERR).join('\n'))
  const details = lines.map((line) => `stderr: ${line}`)
  if (state === 'pending')
    return {
      level: 'error',
      server: name,
      title: 'was still starting when you interrupted',
      details,
      remedy: 'Run the doctor again, and let it finish.',
    }
  return {
    level: 'error',
    server: name,
    title: `did not connect: ${reason ?? 'no reason given'}`,
    details,
    remedy: connectRemedy(transport, source, isTimeout(reason)),
  }
}

/** Timeouts say how long was waited: "it did not answer within 10 s". */
const isTimeout = (reason: string | null) => / within \d/.test(reason ?? '')

function connectRemedy(transport: string, source: string, isLate: boolean): string {
  if (transport !== 'stdio')
    return `Check the URL and the key in ${source}${isLate ? ', or give it longer with --timeout' : ''}.`
  return `Run the command by hand${isLate ? ', give it longer with --timeout' : ''}, or correct the entry in ${source}.`
}

function notTrusted({ name, state, reason, source }: ServerReport): Finding | undefined {
  if (state !== 'untrusted') return undefined
  return {
    level: 'warning',
    server: name,
    title: `of ${source} is not trusted, so it was not started`,
    details: [reason ?? ''],
    remedy: 'Look at what it would do with "toolshelf trust", or add --trust-project.',
  }
}

function changed({ name, changed, held }: ServerReport): Finding | undefined {
  if (changed.length === 0) return undefined
  const outcome = held.length > 0 ? 'held back' : 'used all the same'
  return {
    level: 'warning',
    server: name,
    title: `changed ${counted(changed.length, 'text')} since first seen; ${outcome} by toolshelf mcp`,
    details: [changed.join(', ')],
    remedy: `See it with "toolshelf trust ${name}", and accept it there.`,
  }
}

function idle({ name, idleRules, source }: ServerReport): Finding | undefined {
  if (idleRules.length === 0) return undefined
  return {
    level: 'warning',
    server: name,
    title: `has ${counted(idleRules.length, 'rule')} that match no tool`,
    details: idleRules,
    remedy: `Correct or remove these rules in ${source}.`,
  }
}

const kinds: {
  readonly [kind in ReportedProblem['kind']]: {
    readonly level: Level
    readonly title: (tools: string) => string
    readonly remedy: string
  }
} = {
  dropped: {
    level: 'warning',
    title: (tools) => `lists ${tools} that cannot be used`,
    remedy: 'Report it to its authors; its other tools work.',
  },
  hidden: {
    level: 'warning',
    title: () => 'has texts that people do not see',
    remedy: 'Models get its texts without them. Ask its authors what they are for before you use it.',
  },
  unsupported: {
    level: 'warning',
    title: (tools) => `lists ${tools} for MCP tasks only`,
    remedy: 'Toolshelf does not pass tasks on; the other tools work.',
  },
  limited: {
    level: 'warning',
    title: () => 'exceeds a limit',
    remedy: 'Choose its tools with "allow", or change "maxTools" or "alwaysLoad" at the server.',
  },
  large: {
    level: 'warning',
    title: (tools) => `has ${tools} of more than 20,000 tokens`,
    remedy: 'Keep it deferred, or hide it with "deny" if you can do without.',
  },
  clash: {
    level: 'warning',
    title: (tools) => `has ${tools} renamed because another has the same name`,
    remedy: 'Nothing breaks; rename the server to give its tools names of their own.',
  },
  repaired: {
    level: 'note',
    title: (tools) => `lists ${tools} with an invalid definition, corrected here`,
    remedy: 'Nothing to do; strict clients reject the whole list.',
  },
  'long-name': {
    level: 'note',
    title: (tools) => `has ${tools} with a name too long for the API`,
    remedy: 'Nothing breaks; a shorter server name helps.',
  },
  characters: {
    level: 'note',
    title: (tools) => `has ${tools} with characters in the name that the API does not allow`,
    remedy: 'Nothing to do: they are replaced, and put back when the tool is called.',
  },
}

function problemsOf({ name, problems }: ServerReport): Finding[] {
  return [...groupBy(problems, ({ kind }) => kind)].map(([kind, members]) => ({
    level: kinds[kind].level,
    server: name,
    title: kinds[kind].title(counted(members.length, 'tool')),
    details: [...groupBy(members, ({ message }) => message)].map(([message, same]) =>
      namedFirst(
        same.map(({ tool }) => tool),
        message,
      ),
    ),
    remedy: kinds[kind].remedy,
  }))
}

const MAX_NAMED = 5

/** Returns a sentence about these tools that starts with their names. */
function namedFirst(tools: readonly string[], text: string): string {
  const rest = tools.length - MAX_NAMED
  const names = tools.slice(0, MAX_NAMED).join(', ') + (rest > 0 ? ` and ${count(rest)} more` : '')
  return names === '' ? text : `${names}: ${text}`
}

function worthAlwaysLoading({ name, alwaysLoadAdvice }: ServerReport): Finding | undefined {
  if (!alwaysLoadAdvice) return undefined
  return {
    level: 'note',
    server: name,
    title: `is worth always loading: ${alwaysLoadAdvice.reason}`,
    details: [],
    remedy: 'Set "alwaysLoad": true at the server; no search is needed then.',
  }
}

function shared({ sharedNames }: Report): Finding | undefined {
  if (sharedNames.length === 0) return undefined
  return {
    level: 'note',
    server: undefined,
    title: `${counted(sharedNames.length, 'tool name')} in more than one server`,
    details: sharedNames.map(({ tool, servers }) => `${tool}: ${servers.join(', ')}`),
    remedy: 'Nothing to do: each name has its server as a prefix.',
  }
}

function notWorthIt({ projection, breakEven, total }: Report): Finding | undefined {
  if (!projection || projection.tokensSaved > 0) return undefined
  const { requests, tokensWithout, tokensWith, extraRoundTrips } = projection
  return {
    level: 'note',
    server: undefined,
    title: 'Toolshelf does not pay off for so few tools',
    details: [
      `${requests} requests with a search: ${count(tokensWithout)} tokens without, ${count(tokensWith)} with, ` +
        `${counted(extraRoundTrips, 'extra round trip')}`,
      `it pays off from about ${count(breakEven)} tokens of definitions; yours have ${count(total.tokens)}`,
    ],
    remedy: 'Keep your servers as they are, or always load them all with "alwaysLoad": true.',
  }
}

/** Prompt caching makes definitions cheap, but the cache must still be written. */
function savesNoMoney({ projection }: Report): Finding | undefined {
  const {
    tokensSaved = 0,
    dollarsSaved = 1,
    dollarsWithout = 0,
    dollarsWith = 0,
    pricedAs,
  } = projection ?? {}
  if (tokensSaved <= 0 || dollarsSaved > 0) return undefined
  return {
    level: 'note',
    server: undefined,
    title: `Toolshelf saves context, but no money with ${pricedAs} and prompt caching`,
    details: [`${dollars(dollarsWithout)} without, ${dollars(dollarsWith)} with`],
    remedy: 'Use it if the context window is your limit.',
  }
}

function deferredAlready({ deferringClients, total }: Report): Finding | undefined {
  if (deferringClients.length === 0 || total.ownTools === 0) return undefined
  const { tokens, withLibrary, withDeferral } = total
  const names = deferringClients.join(' and ')
  return {
    level: 'note',
    server: undefined,
    title: `${names} ${deferringClients.length === 1 ? 'defers' : 'defer'} these tools already`,
    details: [
      `by itself it sends their names, about ${count(withLibrary)} of ${count(tokens)} tokens; through toolshelf mcp it would send ${count(withDeferral)}`,
      'a search is an extra round trip either way',
    ],
    remedy: 'There Toolshelf saves little; it pays off in clients that send every definition.',
  }
}
