// Defines what replicas share about the session of a client: its `initialize` parameters, and its choices since.
import { type Fields, fieldsOf, isFields } from '../../lib/index.ts'

/** What a client has chosen in its session. */
export type SessionState = {
  /** Names of the tools that searches loaded, in the order of loading. */
  readonly tools: readonly string[]
  /** Whether a result of the client was stored. */
  readonly hasShelved: boolean
  readonly logLevel?: string | undefined
  /** URIs of the resources that the client subscribes to, as the client knows them. */
  readonly subscriptions: readonly string[]
  /** Servers whose pages the client has read. */
  readonly pages: readonly string[]
}

/** A session as stored. */
export type SessionRecord = {
  /** Parameters of the client's `initialize` request. */
  readonly initialize: Fields
  /** The user of the session; undefined if the gateway has no users. */
  readonly uid?: string | undefined
  /** The owner of the session's long results. */
  readonly owner: string
  /** The replica that changed the list of tools last; it waits until the client has fetched the list. */
  readonly changedBy?: string | undefined
  readonly state: SessionState
}

/** Incremented when an older version could not read the record. */
const VERSION = 1
/** Longest record, in characters; a longer one is refused. */
export const MAX_RECORD = 200_000
/**
 * Longest record of a new session, in characters: anyone with a key can open many, and the store keeps each for a
 * minute.
 */
export const MAX_NEW_RECORD = 20_000

/** The state of a new session. */
export const newSessionState: SessionState = { tools: [], hasShelved: false, subscriptions: [], pages: [] }

/** Returns a record as text. */
export function writeRecord(record: SessionRecord): string {
  return JSON.stringify({ v: VERSION, ...record })
}

/** Parses a record; returns undefined if the text is not one, or is of a newer version. */
export function readRecord(text: string): SessionRecord | undefined {
  const { v, initialize, uid, owner, changedBy, state } = parse(text)
  if (v !== VERSION || !isFields(initialize) || typeof owner !== 'string') return undefined
  return {
    initialize,
    owner,
    ...(typeof uid === 'string' ? { uid } : {}),
    ...(typeof changedBy === 'string' ? { changedBy } : {}),
    state: readState(state),
  }
}

/** Reads a state that another replica wrote; missing or invalid parts become empty. */
export function readState(value: unknown): SessionState {
  const { tools, hasShelved, logLevel, subscriptions, pages } = fieldsOf(value)
  return {
    tools: texts(tools),
    hasShelved: hasShelved === true,
    ...(typeof logLevel === 'string' ? { logLevel } : {}),
    subscriptions: texts(subscriptions),
    pages: texts(pages),
  }
}

/** Returns the part of an `initialize` request that a replica needs to repeat it. */
export function initializeParams(message: unknown): Fields {
  const { protocolVersion, capabilities, clientInfo } = fieldsOf(fieldsOf(message).params)
  return { protocolVersion, capabilities: capabilities ?? {}, clientInfo }
}

function parse(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    return {}
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
