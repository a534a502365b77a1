// Encrypts secrets at rest with AES-256-GCM, under keys from the environment. The first key encrypts; the others only
// decrypt what was written before a rotation.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** A stored secret cannot be read or written. The message names the record and what to do, and contains no secret. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
}

/** Keys that encrypt and decrypt records. */
export type Keyring = {
  /** The public id of the key that encrypts. */
  readonly currentId: string
  /**
   * Encrypts a text.
   *
   * @param name - The name of the record, which is authenticated: the text cannot be decrypted under another name.
   */
  seal(name: string, text: string): string
  /** Decrypts a text. Throws if it was changed, moved to another name, or sealed with an unknown key. */
  open(name: string, sealed: string): string
  /** Returns the id of the key that a text was sealed with; undefined if it is not sealed. */
  keyIdOf(sealed: string): string | undefined
}

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const ALGORITHM = 'aes-256-gcm'
const MAX_KEYS = 20
/** The format of a sealed text: version, id of the key, nonce, tag and text. */
const FORM = /^1\.([0-9a-f]{16})\.([A-Za-z0-9_-]+)$/

/**
 * Opens the keyring.
 *
 * @param keys - `TOOLSHELF_SECRET_KEY`: one key of 32 bytes in hexadecimal or base64, or several separated by commas. The
 * first encrypts, all decrypt.
 */
export function openKeyring(keys: string): Keyring {
  const all = keys.split(',').map((key) => key.trim())
  if (all.length > MAX_KEYS) throw new CredentialError(`TOOLSHELF_SECRET_KEY has more than ${MAX_KEYS} keys`)
  const parsed = all.map((key, index) => readKey(key, index))
  const byId = new Map(parsed.map((key) => [idOf(key), key]))
  // There is at least one: `readKey` refuses an empty text.
  const current = parsed[0] as Buffer
  const currentId = idOf(current)
  return {
    currentId,
    seal(name, text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, current, nonce).setAAD(Buffer.from(name))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return `1.${currentId}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`
    },
    open(name, sealed) {
      const [, id = '', data = ''] = FORM.exec(sealed) ?? []
      const key = byId.get(id)
      if (id === '')
        throw new CredentialError(`${name} is not an encrypted record; remove it and set it again`)
      if (!key)
        throw new CredentialError(
          `${name} was encrypted with the key ${id}, which is not in TOOLSHELF_SECRET_KEY (${[...byId.keys()].join(', ')}); add that key behind the first, or remove the record and set it again`,
        )
      return decrypt(key, name, Buffer.from(data, 'base64url'))
    },
    keyIdOf: (sealed) => FORM.exec(sealed)?.[1],
  }
}

function decrypt(key: Buffer, name: string, bytes: Buffer): string {
  try {
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(name)).setAuthTag(tag)
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch {
    throw new CredentialError(`${name} was changed, or belongs to another record; remove it and set it again`)
  }
}

function readKey(text: string, index: number): Buffer {
  const isHex = /^[0-9a-f]{64}$/i.test(text)
  const isBase64 = /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
  const key = Buffer.from(text, isHex ? 'hex' : 'base64')
  if ((isHex || isBase64) && key.length === KEY_BYTES) return key
  throw new CredentialError(
    `key ${index + 1} of TOOLSHELF_SECRET_KEY does not have 32 bytes in hexadecimal or base64; create one with "openssl rand -base64 32"`,
  )
}

/** Returns an id that identifies a key without revealing anything about it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('toolshelf key id\0').update(key).digest('hex').slice(0, 16)
}
