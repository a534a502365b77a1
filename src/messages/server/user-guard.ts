// Finds the user of a request by their key, and takes the key out of the headers, so that no upstream ever sees it.
import { type AccessRefusal, type Authenticator, isRefusal, type User } from '../../users/index.ts'
import { refuseForNow, refuseRequest } from '../errors.ts'
import { parseModeSetting } from '../plan.ts'
import type { Headers } from '../types.ts'
import type { KnownClient } from './guard.ts'

/** Checks the users of requests. */
export type UserGuard = {
  /** Returns the client, or throws a `RefusedRequest`. */
  admit(headers: Headers): Promise<KnownClient>
}

/** Creates a guard. */
export function createUserGuard(users: Authenticator): UserGuard {
  return {
    async admit(headers) {
      const { token, others } = withoutUserKeys(headers)
      const user = await users.authenticate(token)
      if (isRefusal(user)) throw refuseUser(user)
      return { headers: others, user, key: keyFor(user) }
    },
  }
}

export const WRONG_KEY = 'missing or wrong key; send it as x-api-key, as a bearer token or as x-toolshelf-key'

/** Makes a refusal in the shape of the client's API. */
export function refuseUser({ status, message, isWrongKey, retryAfter = 5 }: AccessRefusal): Error {
  if (status === 429 || status === 503) return refuseForNow(message, retryAfter, status)
  if (status === 403) return refuseRequest(403, 'permission_error', message)
  return refuseRequest(401, 'authentication_error', isWrongKey ? WRONG_KEY : message)
}

/** The user's mode, as a key has one. */
function keyFor({ uid, profile }: User): KnownClient['key'] {
  if (profile.mode === undefined) return undefined
  const setting = parseModeSetting(profile.mode)
  if (setting) return { secret: uid, setting }
  throw refuseRequest(
    403,
    'permission_error',
    `the profile "${profile.name}" has the mode "${profile.mode}", which does not exist; ask the operator to use auto, auto:N, pass, emulate, shelve or off`,
  )
}

const PREFIX = 'tsk_'

/** Headers that may have a key of ours, the surest first. Other keys in them are the client's own, for the upstream. */
function withoutUserKeys(headers: Headers): { readonly token: string | undefined; readonly others: Headers } {
  const { 'x-toolshelf-key': own, 'x-api-key': api, authorization, ...rest } = headers
  const bearer = authorization?.replace(/^Bearer /i, '')
  const isOurs = (text: string | undefined) => text?.trim().startsWith(PREFIX) === true
  return {
    token: (own ?? [api, bearer].find(isOurs))?.trim(),
    others: {
      ...rest,
      ...(api !== undefined && !isOurs(api) ? { 'x-api-key': api } : {}),
      ...(authorization !== undefined && !isOurs(bearer) ? { authorization } : {}),
    },
  }
}
