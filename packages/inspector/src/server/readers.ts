// Decides who reads the page: the person who started the process has the key that it printed, and may do everything; a user
// who is an operator sees what any client of theirs sees, and is counted like it.
// Implements H10, S10.

import { type AccessRefusal, isRefusal, rightsOf, type User } from '@toolshelf/core/internal'
import { type ClientWork, createClientWork, isSecret } from '@toolshelf/core/internal/node'
import type { InspectedServers, InspectorOptions } from './types.ts'
import { InspectorFailure } from './types.ts'

/** Who sent a request. */
export type Reader = {
  /** The servers as the reader may see them; undefined if the process has none. */
  readonly servers: InspectedServers | undefined
  /** May read what all users did. */
  readonly seesConversations: boolean
  /** Counts what the reader causes, before it is done. */
  readonly work: ClientWork
}

/** Finds the reader of a request; throws if its key does not open the page. */
export type FindReader = (request: Request) => Promise<Reader>

/** Creates the check of readers. */
export function createFindReader(options: InspectorOptions): FindReader {
  const { key, users, usage, servers } = options

  async function userOf(authorization: string | null): Promise<User> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    const outcome = token === undefined ? undefined : await users?.authenticate(token)
    if (!outcome || (isRefusal(outcome) && outcome.status === 401))
      throw new InspectorFailure(
        401,
        'missing or wrong key; open the address that the process printed when it started, or send the key of an operator',
      )
    if (isRefusal(outcome)) throw refused(outcome)
    if (!outcome.profile.isOperator)
      throw new InspectorFailure(
        403,
        `the inspector is for operators, and the profile "${outcome.profile.name}" makes nobody one`,
      )
    return outcome
  }

  function readerFor(user: User | undefined): Reader {
    return {
      servers: servers?.(user),
      // A conversation names tools of every server that its user may see.
      seesConversations: !user || !servers || rightsOf(user.profile).seesEverything,
      work: createClientWork({ client: 'inspector', user, usage }),
    }
  }

  return async ({ headers }) => {
    const authorization = headers.get('authorization')
    return readerFor(isSecret(authorization, `Bearer ${key}`) ? undefined : await userOf(authorization))
  }
}

/** Returns the failure for a refused request. */
export function refused({ status, message, retryAfter }: AccessRefusal): InspectorFailure {
  return new InspectorFailure(status, message, retryAfter)
}
