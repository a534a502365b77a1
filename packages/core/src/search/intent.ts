// Reads what a query asks to be done: the action of each clause, the actions it forbids, and idioms; and what a tool does.
import { oncePer } from '../lib/objects.ts'
import { splitName } from '../names.ts'
import type { PoolTool } from '../types.ts'
import { stem } from './stem.ts'
import { ownName } from './words.ts'

/** What a query asks for and what it forbids. */
export type Intent = {
  /** The query without forbidden actions, and with the words that tools use for its idioms. */
  readonly text: string
  /** The text for the lexical search: without the days of appointments, which are also names of services. */
  readonly words: string
  readonly wanted: ReadonlySet<Action>
  /** Actions that the query forbids, as in "do not send" and "delete nothing". */
  readonly forbidden: ReadonlySet<Action>
  /** The things that a question asks for, in the plural: "pull requests" in "which pull requests wait for me". */
  readonly listed: string | undefined
}

const MAX_QUERY_LENGTH = 2_000
const MAX_CLAUSES = 12

const NEGATION =
  /(?:^|[,;:.!?]|\s)\s*(?:but |and |please )*(?:(?:do not|don['’]?t|never|not to|without(?: any)?) (?:ever )?([a-z]+)|no (edit|change|deletion|removal|update|write|refund)s?\b|([a-z]+) (?:nothing|none|neither|no one|nobody)\b)[^,;.!?\n]*/giu

const COURTESY =
  /^(?:please|kindly|hi|hey|hello|ok|okay|now|then|also|just|first|finally|next|and|to|(?:can|could|would|will) you|i(?:['’]d)? (?:want|need|would like|like|have) (?:you )?to|i(?:['’]d)? (?:want|need) (?:a|an|the|some)|help me(?: to)?|let['’]?s|let us|i['’]?m (?:trying|looking) to)[\s,]+/iu

const QUESTION =
  /^(?:which|what(?:['’]?s)?|who(?:se|m)?|why|when|where|how|is|are|was|were|do|does|did|has|have|any|am)\b/iu
const HOW_TO = /^how (?:do|can|could|would|should) (?:i|we|you) |^how to /iu

/** Expressions whose first verb is misleading. */
const PHRASES: readonly (readonly [RegExp, Action])[] = [
  [/^(?:forget|get rid|throw (?:away|out)|take (?:down|out|away)|call off)\b/iu, 'delete'],
  [/^let .{1,40} know\b/iu, 'send'],
  [/^(?:give|tell|show|find|get|bring) me\b/iu, 'read'],
  [/^(?:tell|ping|text|message|write(?: back)? to|write back|say)\b/iu, 'send'],
  [
    /^(?:turn|switch) .{0,40}\b(?:on|off)\b|^(?:turn|switch) (?:on|off)\b|^put .{1,60} (?:into|in) the .{1,30} column/iu,
    'update',
  ],
  [/^(?:look|find out|see|check|tell)\b/iu, 'read'],
  [/^(?:set up|put|make|start a|plan|open an?)\b/iu, 'create'],
  [/^open (?:the|my|our|this|that)\b/iu, 'read'],
  [/^push .{1,40} to (?:next|tomorrow|monday|tuesday|wednesday|thursday|friday)/iu, 'update'],
]

/**
 * A text that only names one new thing asks to create it: "a new ticket", "new branch for the fix". In longer texts the
 * new thing is often a purchase, or the occasion.
 */
const NEW_THING = /^(an?|another|one|my|our)?\s*(?:brand )?new ((?:[a-z-]+ ?){1,3})/iu
const NEW_AT_END = /^(?:[a-z]+ ){1,2}new$/iu

/** New things that people look for or set, and words that are part of names. */
const NOT_MADE =
  /^(?:york|relic|jersey|zealand|orleans|delhi|mexico|england|hampshire|haven|south|year|music|news|info|information|data|content|mail|research|stuff|things?|password|name|title|status|price|value|date|time|address|number|in|on|at|to|for|from|of|and|or)\b/iu
const PLURAL = /[^sui]s$/iu
const END_OF_THING = / (?:in|on|at|to|for|from|of|with|about|and|by|that|this|the|my|our|called|named)\b.*$/iu

/** Reads the intent of a query; a query that only names things wants and forbids nothing. */
export function readIntent(query: string): Intent {
  const forbidden = new Set<Action>()
  const kept = query.length > MAX_QUERY_LENGTH ? query : withoutNegations(query, forbidden)
  const wanted = new Set<Action>()
  const clauses = kept.slice(0, MAX_QUERY_LENGTH).split(CLAUSE_END).filter(isText).slice(0, MAX_CLAUSES)
  for (const clause of clauses) {
    const action = actionOfClause(clause, clauses.length === 1)
    if (action !== undefined && !forbidden.has(action)) wanted.add(action)
  }
  if (wanted.size === 0 && forbidden.size > 0) wanted.add('read')
  const text = isText(kept) ? kept : query
  const words = APPOINTMENT.test(text) ? text.replace(DAY, ' ') : text
  const meant = idiomsOf(text)
  const add = (to: string) => (meant === '' ? to : `${to} ${meant}`)
  return { text: add(text), words: add(words), wanted, forbidden, listed: listedThings(text) }
}

function isText(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text)
}

const LISTING =
  /^\s*(?:which|what|how many|(?:list|show)(?: me)?(?: all)?(?: of)?) (?:(?:the|my|our|your|all|open|new) ){0,2}((?:[a-z]+ ){0,2}?[a-z]{3,}s)(?= \S|[?.!]?\s*$)/iu
const NO_PLURAL =
  /(?:ss|us|is)$|^(?:does|was|has|goes)$| (?:is|are|was|were|do|does|did|has|have|of|in|on|for|the) /iu

function listedThings(text: string): string | undefined {
  const things = LISTING.exec(text)?.[1]?.toLowerCase()
  return things === undefined || NO_PLURAL.test(things) ? undefined : things
}

const APPOINTMENT =
  /\b(?:meeting|appointment|event|standup|call|lunch|dinner|interview|calendar|remind|reminder|schedule|reschedule)\b/iu
const DAY =
  /\b(?:on|by|until|to|from|for|next|this|every|last) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b/giu

const CLAUSE_END = /[.;!?\n]+|,?\s+(?:and then|and also|and|then|after that)\s+|,\s+(?=then\b)/iu

function withoutNegations(query: string, forbidden: Set<Action>): string {
  return query.replace(NEGATION, (match, verb?: string, noun?: string, before?: string) => {
    const action = actionOfVerb((verb ?? noun ?? before ?? '').toLowerCase())
    if (noun !== undefined) forbidden.add('update').add('delete').add('create')
    else if (action === undefined || action === 'read') return match
    else forbidden.add(action)
    return ' '
  })
}

function actionOfClause(clause: string, isWhole: boolean): Action | undefined {
  let text = clause.trim()
  for (let rounds = 0; rounds < 4; rounds++) {
    const rest = text.replace(COURTESY, '')
    if (rest === text) break
    text = rest
  }
  if (HOW_TO.test(text)) text = text.replace(HOW_TO, '')
  else if (QUESTION.test(text)) return 'read'
  for (const [phrase, action] of PHRASES) if (phrase.test(text)) return action
  if (isWhole && asksForNewThing(text)) return 'create'
  return actionOfVerb(/^[a-z]+/iu.exec(text)?.[0].toLowerCase() ?? '')
}

function asksForNewThing(text: string): boolean {
  if (NEW_AT_END.test(text)) return !PLURAL.test(text.slice(0, -' new'.length))
  const found = NEW_THING.exec(text)
  const rest = found?.[2] ?? ''
  if (!found || NOT_MADE.test(rest) || /New [A-Z]/u.test(found[0])) return false
  return found[1] !== undefined || !PLURAL.test(rest.replace(END_OF_THING, '').trim())
}

/** Returns whether a query asks for something else than a tool's action, or forbids it. */
export function isUnwanted({ wanted, forbidden }: Intent, action: Action | undefined): boolean {
  if (action === undefined) return false
  return forbidden.has(action) || (wanted.size > 0 && !wanted.has(action))
}

/** A kind of effect: what a tool does, or what a query asks for. */
type Action = 'read' | 'create' | 'update' | 'delete' | 'send' | 'run'

const VERBS: Readonly<Record<Action, string>> = {
  read: `list get fetch read search find query show view describe retrieve check lookup look see inspect count download
    export monitor track watch analyze analyse compare summarize explain browse display print preview inspect discover
    locate examine return returns review verify validate estimate calculate compute convert translate detect extract`,
  create: `create add make insert generate write draft compose build register book schedule upload import save store
    record log reserve clone copy duplicate fork append attach remind remember init provision`,
  update: `update edit change modify set rename move replace patch adjust configure assign mark enable disable complete
    close reopen resolve restore merge transition label tag fix reschedule switch toggle archive approve reject finish
    pin mute lock unlock reset convert sync link upsert`,
  delete: `delete remove drop purge destroy erase clear wipe trash uninstall revoke discard unlink detach cancel
    terminate kill prune unassign`,
  send: 'send post publish reply share forward notify message email invite tweet broadcast answer comment submit respond',
  run: `run execute start stop restart launch trigger deploy invoke play pause resume scale click press navigate call
    evaluate rollback skip retry rerun connect type scroll hover wait`,
}

const ACTIONS = Object.keys(VERBS) as Action[]

/** Verb stem → action; a verb that is in two lists counts for the first. */
const ACTION_OF_STEM = new Map<string, Action>()
for (const action of ACTIONS)
  for (const verb of VERBS[action].split(/\s+/))
    if (!ACTION_OF_STEM.has(stem(verb))) ACTION_OF_STEM.set(stem(verb), action)

/** Returns the action that a verb asks for, in any of its forms; undefined for other words. */
export function actionOfVerb(word: string): Action | undefined {
  return ACTION_OF_STEM.get(stem(word))
}

const MAX_NAME_LENGTH = 200
const MAX_START_LENGTH = 80

/** Returns what a tool does, judged by the first verb of its name, else by the first word of its description. */
export const actionOfTool = oncePer((tool: PoolTool): Action | undefined => {
  const { annotations, description } = tool.tool
  const { readOnlyHint, destructiveHint } = (annotations ?? {}) as Record<string, unknown>
  if (readOnlyHint === true) return 'read'
  const words = splitName(ownName(tool).slice(0, MAX_NAME_LENGTH))
  const named = words.map(actionOfVerb).find((action) => action !== undefined)
  if (named !== undefined) return named
  const start = typeof description === 'string' ? description.slice(0, MAX_START_LENGTH) : ''
  const described = actionOfVerb(/[a-z]+/i.exec(start)?.[0].toLowerCase() ?? '')
  return described ?? (destructiveHint === true ? 'delete' : undefined)
})

const LISTING_VERBS = new Set(['list', 'get', 'show', 'view', 'fetch', 'retrieve', 'browse'])

/**
 * Returns how a tool's name refers to things, which are passed by their stems: `list_pull_requests` lists them all,
 * `get_pull_requests_by_author` lists some, `get_pull_request_reviews` only names them. Returns undefined if the name
 * does not contain them.
 */
export function nameMention(
  tool: PoolTool,
  stems: readonly string[],
): 'lists all' | 'lists some' | 'names' | undefined {
  const words = splitName(ownName(tool).slice(0, MAX_NAME_LENGTH)).map((word) => word.toLowerCase())
  const found = words.map(stem)
  if (!stems.every((one) => found.includes(one))) return undefined
  const isPlural = words[stems.length]?.endsWith('s') && stems.every((one, index) => found[index + 1] === one)
  if (!isPlural || !LISTING_VERBS.has(words[0] ?? '')) return 'names'
  return words.length === stems.length + 1 ? 'lists all' : 'lists some'
}

/** Returns whether a tool declares itself destructive. */
export function isDestructive({ tool }: PoolTool): boolean {
  const { destructiveHint, readOnlyHint } = (tool.annotations ?? {}) as Record<string, unknown>
  return destructiveHint === true && readOnlyHint !== true
}

/** One idiom per line: a pattern, then ` => ` and the words. `_` matches up to four words. */
const LINES = `
  on foot => walking directions
  by (?:bus|train|tram|subway|public transport) => transit directions
  how (?:do|can|would) (?:i|we|you) get (?:to|from|there) => directions route
  how far => distance
  how long (?:does|will|would) it take to (?:get|drive|walk|travel) => travel time directions
  money back|pay _ back => refund
  (?:read|say) (?:_ )?(?:aloud|out loud) => text to speech audio
  (?:turn|put|bring|say) _ in(?:to)? (?:english|german|french|spanish|italian|portuguese|chinese|japanese|korean|russian) => translate language
  how do you say => translate
  the hour (?:in|is it|now)|what hour => current time timezone
  (?:keep|bear) in mind => memory remember
  out of office|away message => vacation automatic reply
  take back|undo what => cancel revert
  call(?:ed)? off => cancel
  put(?:ting)? off|push(?:ed)? back => reschedule postpone
  sign (?:me|us|him|her|them) up => register subscribe
  get rid of|throw (?:away|out)|do away with => delete remove
  (?:make|get) _ smaller => compress resize
  (?:make|get) _ (?:bigger|larger) => upscale resize
  what(?: is|'s) (?:on|in) (?:the|this) (?:picture|photo|image) => describe image
  (?:words?|text) (?:in|on|from) (?:the|this|a) (?:picture|photo|image|scan) => ocr extract text
  what _ looks? like|how (?:the|this) (?:page|site|screen) looks => screenshot
  in stock|how many _ left => inventory
  (?:have|has) not (?:yet )?paid|(?:haven't|hasn't) paid|owes? (?:us|me) => unpaid overdue invoice
  on duty|on call => oncall schedule
  who (?:wrote|changed|touched) (?:this|the) (?:line|code|file) => blame commit history
  now and then|on and off => flaky
  went wrong|blew up|broke down => error failure log
  still (?:up|alive)|up and running => health status
  let (?!me |us )_ know|give _ a heads.?up => notify send message
  ring (?:up )?(?:him|her|them|a person|someone)|give _ a (?:call|ring) => phone call
  (?:write|jot) (?:_ )?down|make a note => create note
  (?:cross|tick|check) (?:_ )?off => complete task
  hand (?:_ )?over => assign transfer
  who(?: is|'s) (?:free|available|busy)|when am i free => availability calendar
  what(?: is|'s) (?:new|happening|going on) => latest news
  (?:is it|will it) (?:going to )?(?:rain|snow)|umbrella => weather forecast
  (?:place|somewhere|flat|room) to (?:stay|sleep) => accommodation listing
  (?:place|somewhere) to eat => restaurant
  how much (?:is|are|does|do) _ (?:cost|worth) => price
  what was said|what _ said in => transcript
  roll _ back|how it was before|previous version => rollback restore
  (?:nobody|no one) but|only _ (?:may|can) (?:read|see|open|reach) => permission access
  where _ is defined => definition symbol
  start over|from scratch => reset
  put _ together|in (?:one|a single) file => merge combine
  keep an eye on => monitor
  stop (?:mailing|emailing|writing to) => pause unsubscribe
  tidy up|clean up => cleanup prune
  say (?:ok|okay|yes) to|sign _ off => approve
  whose birthday => contact
  drop (?:_ )?a (?:line|note) => send message
  hook (?:_ )?up => connect
  (?:turn|switch) (?:_ )?(?:on|off) => enable disable toggle
  (?:wake|shut) (?:_ )?(?:up|down) => start stop
  spell(?:ing)? mistakes?|typos? in => grammar proofread
  in (?:a few|fewer|simple) words|in short|too long to read => summarize summary
  behind the scenes|under the hood => log trace debug
  eats? up|takes? (?:up )?(?:so much|too much) => usage
  so slow|takes? (?:so|too) long => performance profile trace
  (?:give|grant|let) _ (?:access|in) => permission invite access
  kick (?:_ )?out|lock (?:_ )?out => remove ban member
  lend _ a hand|ask for help => support ticket
  due (?:today|tomorrow|this week) => task deadline
  make (?:_ )?public => publish
`

type Idiom = { readonly pattern: RegExp; readonly words: string }

const SOURCES = LINES.trim()
  .split('\n')
  .map((line) => {
    const [pattern = '', words = ''] = line.trim().split(' => ')
    return { source: `\\b(?:${pattern.replaceAll('_', "(?:[\\w'’-]+ ){0,3}[\\w'’-]+")})\\b`, words }
  })

const ANY = new RegExp(SOURCES.map(({ source }) => source).join('|'))
const IDIOMS: readonly Idiom[] = SOURCES.map(({ source, words }) => ({
  pattern: new RegExp(source),
  words,
}))

const MAX_TEXT_LENGTH = 500
const MAX_IDIOMS = 3

/** Returns the words that tools use for the idioms in a text; empty if it has none. */
function idiomsOf(text: string): string {
  const beginning = text.slice(0, MAX_TEXT_LENGTH).toLowerCase()
  if (!ANY.test(beginning)) return ''
  return IDIOMS.filter(({ pattern }) => pattern.test(beginning))
    .slice(0, MAX_IDIOMS)
    .map(({ words }) => words)
    .join(' ')
}
