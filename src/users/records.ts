// Reads stored profiles, users and keys, from `users.json` or as JSON values of a store. Errors name the field, its
// value and what is expected.
import { type Fields, isFields, quote } from '../lib/index.ts'
import type { KeyRecord } from './keys.ts'
import type { AccessRules, Profile, UsageLimits } from './types.ts'

/** A user as stored. */
export type UserRecord = { readonly profile: string }

/** Everything in `users.json`. */
export type UserRecords = {
  readonly profiles: ReadonlyMap<string, Profile>
  readonly users: ReadonlyMap<string, UserRecord>
  readonly keys: ReadonlyMap<string, KeyRecord>
  /** The section `oauth` as written; `readOAuthSettings` reads it. */
  readonly oauth?: unknown
}

/** A profile, user or key is invalid. The message says where and how. */
export class UsersError extends Error {
  override readonly name = 'UsersError'
}

const MAX_ID_LENGTH = 200
const MAX_PATTERNS = 1000
const MAX_PATTERN_LENGTH = 300
const LISTINGS = ['auto', 'list', 'bridge'] as const
const LIMITS = [
  'requestsPerMinute',
  'requestsPerDay',
  'searchesPerMinute',
  'searchesPerDay',
  'tokensPerMinute',
  'tokensPerDay',
] as const

/** Reads the content of `users.json`. */
export function readUserRecords(value: unknown): UserRecords {
  const top = objectAt('the file', value, ['profiles', 'users', 'keys', 'oauth'])
  const profiles = entriesOf('profiles', top.profiles, readProfile)
  const users = entriesOf('users', top.users, readUser)
  const keys = entriesOf('keys', top.keys, readKey)
  for (const [id, { profile }] of users)
    if (!profiles.has(profile))
      throw new UsersError(
        `users.${id}.profile is ${quote(profile)}, but profiles has ${namesOf(profiles)}; add the profile or name another`,
      )
  for (const [id, { user }] of keys)
    if (!users.has(user))
      throw new UsersError(
        `keys.${id}.user is ${quote(user)}, but there is no such user; remove the key or add the user`,
      )
  return { profiles, users, keys, ...(top.oauth === undefined ? {} : { oauth: top.oauth }) }
}

/** Reads one profile. */
export function readProfile(name: string, value: unknown): Profile {
  const place = `profiles.${name}`
  checkId(place, name)
  const allowed = ['servers', 'tools', 'listing', 'mode', 'resultBudget', 'limits', 'operator']
  const { servers, tools, listing, mode, resultBudget, limits, operator } = objectAt(place, value, allowed)
  if (listing !== undefined && !LISTINGS.some((one) => one === listing))
    throw wrong(`${place}.listing`, listing, `one of ${LISTINGS.join(', ')}`)
  if (mode !== undefined && typeof mode !== 'string')
    throw wrong(`${place}.mode`, mode, 'a mode of the Messages gateway, such as auto')
  if (resultBudget !== undefined && !isCount(resultBudget))
    throw wrong(`${place}.resultBudget`, resultBudget, 'a number of characters; 0 sends every result whole')
  if (operator !== undefined && typeof operator !== 'boolean')
    throw wrong(`${place}.operator`, operator, 'true or false')
  return {
    name,
    servers: readRules(`${place}.servers`, servers),
    tools: readRules(`${place}.tools`, tools),
    ...(listing === undefined ? {} : { listing: listing as (typeof LISTINGS)[number] }),
    ...(mode === undefined ? {} : { mode: mode as string }),
    ...(resultBudget === undefined ? {} : { resultBudget: resultBudget as number }),
    limits: readLimits(`${place}.limits`, limits),
    ...(operator === true ? { isOperator: true } : {}),
  }
}

/** Reads one user. */
export function readUser(id: string, value: unknown): UserRecord {
  checkId(`users.${id}`, id)
  const { profile } = objectAt(`users.${id}`, value, ['profile'])
  if (typeof profile !== 'string') throw wrong(`users.${id}.profile`, profile, 'the name of a profile')
  return { profile }
}

/** Reads one key. */
export function readKey(id: string, value: unknown): KeyRecord {
  const place = `keys.${id}`
  const { user, hash, created, expires, label } = objectAt(place, value, [
    'user',
    'hash',
    'created',
    'expires',
    'label',
  ])
  if (!/^[0-9a-f]{16}$/.test(id))
    throw new UsersError(
      `${place}: the id must be 16 hexadecimal digits; create keys with "toolshelf keys create"`,
    )
  if (typeof user !== 'string') throw wrong(`${place}.user`, user, 'the id of a user')
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash))
    throw wrong(`${place}.hash`, undefined, 'the SHA-256 of the key in hexadecimal, never the key itself')
  if (!isTime(created)) throw wrong(`${place}.created`, created, 'a time in ISO 8601')
  if (expires !== undefined && !isTime(expires))
    throw wrong(`${place}.expires`, expires, 'a time in ISO 8601')
  if (label !== undefined && typeof label !== 'string') throw wrong(`${place}.label`, label, 'a text')
  return {
    user,
    hash,
    created,
    ...(expires === undefined ? {} : { expires }),
    ...(label === undefined ? {} : { label }),
  }
}

/** Returns the JSON value of a profile, as `readProfile` accepts it. */
export function profileJson({
  servers,
  tools,
  listing,
  mode,
  resultBudget,
  limits,
  isOperator,
}: Profile): Fields {
  return {
    servers,
    tools,
    ...(listing === undefined ? {} : { listing }),
    ...(mode === undefined ? {} : { mode }),
    ...(resultBudget === undefined ? {} : { resultBudget }),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(isOperator ? { operator: true } : {}),
  }
}

/** Throws unless a text can be the id of a user or the name of a profile. */
export function checkId(place: string, id: string): void {
  const isGood =
    id.length > 0 && id.length <= MAX_ID_LENGTH && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(id) && id.trim() === id
  if (!isGood)
    throw new UsersError(
      `${place}: ${quote(id)} cannot be a name; use 1 to ${MAX_ID_LENGTH} characters, without control characters and outer spaces`,
    )
}

function readRules(place: string, value: unknown): AccessRules {
  const { allow, deny } = objectAt(place, value ?? {}, ['allow', 'deny'])
  return { allow: readPatterns(`${place}.allow`, allow), deny: readPatterns(`${place}.deny`, deny) }
}

function readPatterns(place: string, value: unknown = []): readonly string[] {
  const isGood =
    Array.isArray(value) &&
    value.length <= MAX_PATTERNS &&
    value.every((one) => typeof one === 'string' && one.length > 0 && one.length <= MAX_PATTERN_LENGTH)
  if (!isGood) throw wrong(place, value, 'a list of names, in which * stands for anything')
  return value
}

function readLimits(place: string, value: unknown): UsageLimits {
  const limits = objectAt(place, value ?? {}, LIMITS)
  for (const [name, limit] of Object.entries(limits))
    if (!isCount(limit)) throw wrong(`${place}.${name}`, limit, 'a whole number, 0 or more')
  return limits as UsageLimits
}

function entriesOf<Value>(
  place: string,
  value: unknown,
  read: (name: string, value: unknown) => Value,
): ReadonlyMap<string, Value> {
  if (value === undefined) return new Map()
  if (!isFields(value)) throw wrong(place, value, 'an object with names as keys')
  return new Map(Object.entries(value).map(([name, one]) => [name, read(name, one)]))
}

function objectAt(place: string, value: unknown, fields: readonly string[]): Fields {
  if (!isFields(value)) throw wrong(place, value, `an object with ${fields.join(', ')}`)
  const unknown = Object.keys(value).find((name) => !fields.includes(name))
  if (unknown !== undefined)
    throw new UsersError(`${place} has an unknown field ${quote(unknown)}; known are ${fields.join(', ')}`)
  return value
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))
}

function namesOf(profiles: ReadonlyMap<string, unknown>): string {
  return profiles.size > 0 ? [...profiles.keys()].slice(0, 20).join(', ') : 'none'
}

function wrong(place: string, value: unknown, expected: string): UsersError {
  const found = value === undefined ? 'is missing or invalid' : `is ${quote(value)}`
  return new UsersError(`${place} ${found}; expected ${expected}`)
}
