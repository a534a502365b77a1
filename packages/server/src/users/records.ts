// Reads stored profiles, users and keys, from `users.json` or as JSON values of a store. Errors name the field, its
// value and what is expected.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  type AccessRules,
  errorMessage,
  type Fields,
  fieldsOf,
  isFields,
  type Profile,
  quote,
  rightsOf,
  type UsageLimits,
} from '@toolshelf/core/internal'

export type UserRecord = {
  readonly profile: string
  /** What is kept for the user belongs to this id, which is random and new for a user who is created again. */
  readonly uid: string
  /** Whose access tokens are this user's. */
  readonly token?: TokenOwner
}

/** A person as their identity provider knows them: by the subject of their tokens, which it never gives to another. */
export type TokenOwner = {
  /** The provider, exactly as `iss` names it. */
  readonly issuer: string
  /** `sub` of their tokens. Kept from the first token that has the address, if the operator names only that. */
  readonly subject?: string
  /** Their mail address; it counts until there is a subject, because an address can be given to somebody else. */
  readonly email?: string
}

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
  refuseDuplicates(users)
  for (const [id, { profile }] of users)
    if (!profiles.has(profile))
      throw new UsersError(
        `users.${id}.profile is ${quote(profile)}, but profiles has ${namesOf(profiles)}; add the profile or name another`,
      )
  for (const [id, { user, uid }] of keys) {
    const owner = users.get(user)
    if (!owner)
      throw new UsersError(
        `keys.${id}.user is ${quote(user)}, but there is no such user; remove the key or add the user`,
      )
    if (uid !== owner.uid)
      throw new UsersError(`keys.${id} is of an earlier user ${quote(user)}; remove it and create a new one`)
  }
  return { profiles, users, keys, ...(top.oauth === undefined ? {} : { oauth: top.oauth }) }
}

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
  const profile: Profile = {
    name,
    servers: readRules(`${place}.servers`, servers),
    tools: readRules(`${place}.tools`, tools),
    ...(listing === undefined ? {} : { listing: listing as (typeof LISTINGS)[number] }),
    ...(mode === undefined ? {} : { mode: mode as string }),
    ...(resultBudget === undefined ? {} : { resultBudget: resultBudget as number }),
    limits: readLimits(`${place}.limits`, limits),
    ...(operator === true ? { isOperator: true } : {}),
  }
  try {
    rightsOf(profile)
  } catch (error) {
    throw new UsersError(`${place}: ${errorMessage(error)}`)
  }
  return profile
}

export function readUser(id: string, value: unknown): UserRecord {
  const place = `users.${id}`
  checkId(place, id)
  const { profile, uid, token } = objectAt(place, value, ['profile', 'uid', 'token'])
  if (typeof profile !== 'string') throw wrong(`${place}.profile`, profile, 'the name of a profile')
  return {
    profile,
    uid: readUid(place, uid),
    ...(token === undefined ? {} : { token: readTokenOwner(`${place}.token`, token) }),
  }
}

function readUid(place: string, uid: unknown): string {
  if (typeof uid === 'string' && /^[0-9a-f]{32}$/.test(uid)) return uid
  throw wrong(`${place}.uid`, uid, '32 hexadecimal digits; leave it out of a file, and it is written')
}

function newUid(): string {
  return randomBytes(16).toString('hex')
}

/**
 * Returns the content of a users file with a new `uid` for each user who has none, and that of its user for each key; the same
 * object if nothing is missing.
 *
 * @param known - Users who have one elsewhere.
 */
export function withUids(file: Fields, known: ReadonlyMap<string, UserRecord> = NOBODY): Fields {
  const users = withMissing(fieldsOf(file).users, (_, id) => known.get(id)?.uid ?? newUid())
  const uids = new Map(Object.entries(fieldsOf(users)).map(([id, user]) => [id, fieldsOf(user).uid]))
  const keys = withMissing(fieldsOf(file).keys, ({ user }) => uids.get(String(user)))
  return users === file.users && keys === file.keys ? file : { ...file, users, keys }
}

const NOBODY: ReadonlyMap<string, UserRecord> = new Map()

/** Gives each entry a `uid` that has none and for which one is found; returns the same object if nothing changes. */
function withMissing(part: unknown, uidFor: (entry: Fields, name: string) => unknown): unknown {
  let isChanged = false
  const entries = Object.entries(fieldsOf(part)).map(([name, entry]) => {
    const uid = isFields(entry) && entry.uid === undefined ? uidFor(entry, name) : undefined
    if (uid === undefined) return [name, entry]
    isChanged = true
    return [name, { ...fieldsOf(entry), uid }]
  })
  return isChanged ? Object.fromEntries(entries) : part
}

/** Returns a user's record with these fields changed; a new user gets a `uid`. */
export function changedUser(before: UserRecord | undefined, fields: UserFields): UserRecord {
  const after = { uid: newUid(), ...before, ...fields }
  const { token } = after
  // The subject that an address was resolved to stays: it may be another person's now.
  const isSame = token?.issuer === before?.token?.issuer && token?.email === before?.token?.email
  return token && isSame ? { ...after, token: { ...before?.token, ...token } } : after
}

/** Returns a user's record with the subject of their tokens; undefined if they have one already, or no tokens. */
export function withSubject(user: UserRecord | undefined, subject: string): UserRecord | undefined {
  if (!user?.token || user.token.subject !== undefined) return undefined
  return { ...user, token: { ...user.token, subject } }
}

/** What can be changed of a user; what is left out stays. */
export type UserFields = Partial<UserRecord> & Pick<UserRecord, 'profile'>

function readTokenOwner(place: string, value: unknown): TokenOwner {
  const { issuer, subject, email } = objectAt(place, value, ['issuer', 'subject', 'email'])
  if (typeof issuer !== 'string' || issuer === '')
    throw wrong(`${place}.issuer`, issuer, 'the URL of the identity provider, as "iss" of its tokens has it')
  if (subject !== undefined && (typeof subject !== 'string' || subject === ''))
    throw wrong(`${place}.subject`, subject, '"sub" of the tokens')
  if (email !== undefined && !isMailAddress(email))
    throw wrong(`${place}.email`, email, 'a mail address, in ASCII')
  if (subject === undefined && email === undefined)
    throw new UsersError(`${place} names nobody; add "email" or "subject"`)
  return {
    issuer,
    ...(subject === undefined ? {} : { subject: subject as string }),
    ...(email === undefined ? {} : { email }),
  }
}

/** Returns whether a value can be compared as a mail address. Other alphabets have letters that only look the same. */
export function isMailAddress(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length <= MAX_ID_LENGTH && /^[\x21-\x7e]+@[\x21-\x7e]+$/.test(value)
  )
}

/** Returns a text that identifies a person: by the subject if it is known. */
export function keyOfOwner({ issuer, subject, email = '' }: TokenOwner): string {
  return JSON.stringify(subject === undefined ? { issuer, email: email.toLowerCase() } : { issuer, subject })
}

/** Two users with the same `uid` would act as one, and a token that two have would be one or the other's. */
function refuseDuplicates(users: ReadonlyMap<string, UserRecord>): void {
  const owners = new Map<string, string>()
  const claim = (id: string, field: string, value: string, remedy: string) => {
    const owner = owners.get(`${field} ${value}`)
    owners.set(`${field} ${value}`, id)
    if (owner !== undefined)
      throw new UsersError(`users.${id}.${field} is that of the user ${quote(owner)}; ${remedy}`)
  }
  for (const [id, { uid, token }] of users) {
    claim(id, 'uid', uid, 'leave it out, and a new one is written')
    if (token) claim(id, 'token', keyOfOwner(token), 'name another person')
  }
}

export function readKey(id: string, value: unknown): KeyRecord {
  const place = `keys.${id}`
  const { user, uid, hash, created, expires, label } = objectAt(place, value, [
    'user',
    'uid',
    'hash',
    'created',
    'expires',
    'label',
  ])
  if (!/^[0-9a-f]{16}$/.test(id))
    throw new UsersError(
      `${place}: the id must be 16 hexadecimal digits; create keys with "toolshelf users add"`,
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
    ...(uid === undefined ? {} : { uid: readUid(place, uid) }),
    hash,
    created,
    ...(expires === undefined ? {} : { expires }),
    ...(label === undefined ? {} : { label }),
  }
}

/** Returns the JSON value of a profile, as `readProfile` accepts it. */
export function profileJson({ name: _, limits, isOperator, ...others }: Profile): Fields {
  return {
    ...others,
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

export type KeyRecord = {
  readonly user: string
  /** The `uid` of that user: a later user of the same id has other keys. A directory fills it in. */
  readonly uid?: string
  /** SHA-256 of the whole key, in hexadecimal. */
  readonly hash: string
  /** When it was created, in ISO 8601. */
  readonly created: string
  /** When it expires, in ISO 8601; never if omitted. */
  readonly expires?: string
  readonly label?: string
}

/** A new key, `tsk_<id>_<secret>`. The id is public and names it in lists; `token` is shown once and not stored. */
type CreatedKey = { readonly id: string; readonly token: string; readonly record: KeyRecord }

const FORM = /^tsk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/
const ID_BYTES = 8
const SECRET_BYTES = 32

export function createKey(
  user: string,
  {
    now = new Date(),
    expires,
    label,
  }: { now?: Date; expires?: Date | undefined; label?: string | undefined } = {},
): CreatedKey {
  const id = randomBytes(ID_BYTES).toString('hex')
  const token = `tsk_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`
  const record = {
    user,
    hash: keyHash(token),
    created: now.toISOString(),
    ...(expires ? { expires: expires.toISOString() } : {}),
    ...(label ? { label } : {}),
  }
  return { id, token, record }
}

/** Returns the id in a key; undefined if the text does not have the format of a key. */
export function keyIdOf(token: string): string | undefined {
  return FORM.exec(token)?.[1]
}

/**
 * Returns the SHA-256 of a key in hexadecimal, which is all that is stored of it. A slow hash protects passwords, which can be
 * guessed; a secret of 256 random bits cannot, and a fast hash lets a gateway check every request.
 */
export function keyHash(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Compared with the hash of a key whose id is unknown, so that it takes as long as a wrong secret. */
const NO_HASH = '0'.repeat(64)

/** Returns whether a record belongs to this key. Takes constant time, even without a record. */
export function isKeyOf(record: KeyRecord | undefined, tokenHash: string): boolean {
  const expected = Buffer.from(record?.hash ?? NO_HASH, 'hex')
  const given = Buffer.from(tokenHash, 'hex')
  const isSame = expected.length === given.length && timingSafeEqual(expected, given)
  return isSame && record !== undefined
}

export function hasExpired({ expires }: Pick<KeyRecord, 'expires'>, now: number): boolean {
  return expires !== undefined && Date.parse(expires) <= now
}
