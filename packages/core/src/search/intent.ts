// Reads what a query asks to be done: the action of each clause, and the actions it forbids.
import { type Action, actionOfVerb } from './actions.ts'
import { idiomsOf } from './idioms.ts'

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

/** Returns how well a tool's action fits: 1 if wanted, 0 if unknown, −1 if unwanted. */
export function actionFit({ wanted, forbidden }: Intent, action: Action | undefined): number {
  if (action === undefined) return 0
  if (forbidden.has(action)) return -1
  if (wanted.size === 0) return 0
  return wanted.has(action) ? 1 : -1
}
