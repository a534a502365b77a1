// Infers what a tool does (reads, creates, updates, deletes, sends, runs) from its name and description.

import { oncePer } from '../lib/objects.ts'
import { splitName } from '../names.ts'
import type { PoolTool } from '../types.ts'
import { ownName } from './query-words.ts'
import { stem } from './words.ts'

/** A kind of effect: what a tool does, or what a query asks for. */
export type Action = 'read' | 'create' | 'update' | 'delete' | 'send' | 'run'

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
