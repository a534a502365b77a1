// Finds the user of a request by their key, and takes the key out of the headers, so that no upstream ever sees it.
import { createWrongKeys } from '../../node/index.ts'
import { type AccessRefusal, type Authenticator, isRefusal, type User } from '../../users/index.ts'
import { refuseForNow, refuseRequest } from '../errors.ts'
import { parseModeSetting } from '../plan.ts'
import type { Headers } from '../types.ts'
import type { KnownClient } from './guard.ts'

/** Checks the users of requests. */
export type UserGuard = {
  /** Returns the client, or throws a `RefusedRequest`. */
  admit(headers: Headers, network: string): Promise<KnownClient>
}

/** Creates a guard. */
export function createUserGuard(users: Authenticator, notify?: (message: string) => void): UserGuard {
  const wrongKeys = createWrongKeys({ notify })

  async function userOf(token: string | undefined, network: string): Promise<User | AccessRefusal> {
    const isKnown = token === undefined || users.recall(token) !== undefined
    const seconds = isKnown ? 0 : wrongKeys.waitSeconds(network)
    if (seconds > 0) {
      const message = `too many wrong keys from this address; try again in ${seconds} s`
      return { status: 429, message, retryAfter: seconds }
    }
    const outcome = await users.authenticate(token)
    if (isRefusal(outcome) && outcome.status === 401 && token !== undefined) wrongKeys.add(network)
    return outcome
  }

  return {
    async admit(headers, network) {
      const { token, others } = withoutUserKeys(headers)
      const user = await userOf(token, network)
      if (isRefusal(user)) throw refuseUser(user)
      return { headers: others, user, key: keyFor(user) }
    },
  }
}

/** Makes a refusal in the shape of the client's API. */
export function refuseUser({ status, message, isWrongKey, retryAfter = 5 }: AccessRefusal): Error {
  if (status === 429 || status === 503) return refuseForNow(message, retryAfter, status)
  if (status === 403) return refuseRequest(403, 'permission_error', message)
  const where = 'missing or wrong key; send it as x-api-key, as a bearer token or as x-toolshelf-key'
  return refuseRequest(401, 'authentication_error', isWrongKey ? where : message)
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
