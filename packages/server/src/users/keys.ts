// Creates and checks the keys of users: `tsk_<id>_<secret>`. The id is public and names the key in lists; the secret has
// 256 random bits.
//
// Only the SHA-256 of a key is stored. A slow hash protects passwords, which people choose and others can guess; a
// secret of 256 random bits cannot be guessed however fast the hash is, and a fast one lets a gateway check every
// request.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** What is stored of a key. */
export type KeyRecord = {
  /** The id of the user it belongs to. */
  readonly user: string
  /** The `uid` of that user: a later user of the same id has other keys. A directory fills it in. */
  readonly uid?: string
  /** SHA-256 of the whole key, in hexadecimal. */
  readonly hash: string
  /** When it was created, in ISO 8601. */
  readonly created: string
  /** When it expires, in ISO 8601; never if omitted. */
  readonly expires?: string
  /** What it is for. */
  readonly label?: string
}

/** A new key. `token` is shown once and not stored. */
type CreatedKey = { readonly id: string; readonly token: string; readonly record: KeyRecord }

const FORM = /^tsk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/
const ID_BYTES = 8
const SECRET_BYTES = 32

/** Creates a key for a user. */
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

/** Returns the SHA-256 of a key in hexadecimal. */
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

/** Returns whether a key has expired. */
export function hasExpired({ expires }: Pick<KeyRecord, 'expires'>, now: number): boolean {
  return expires !== undefined && Date.parse(expires) <= now
}
