// Decides which servers and tools a profile may see: one predicate, which the gateway applies to everything it returns.
import { matchesAny } from '../lib/index.ts'
import type { AccessRules, Profile, User } from './types.ts'

/** Which servers and tools a user may see, and therefore search, list, call and read. */
export type Rights = {
  /** Equal for two profiles with the same rules. */
  readonly id: string
  /** Has no rules: nothing is hidden, whatever servers there will be. */
  readonly seesEverything: boolean
  seesServer(server: string): boolean
  /** Returns whether the user may see a tool. @param tool - Its name on the server. */
  seesTool(server: string, tool: string): boolean
}

const known = new WeakMap<Profile, Rights>()

/** Returns the rights of a profile; the same object for the same profile. */
export function rightsOf(profile: Profile): Rights {
  let rights = known.get(profile)
  if (!rights) {
    rights = createRights(profile)
    known.set(profile, rights)
  }
  return rights
}

function createRights({ servers, tools }: Pick<Profile, 'servers' | 'tools'>): Rights {
  const seesServer = (server: string) => allows(servers, server)
  const rules = [servers.allow, servers.deny, tools.allow, tools.deny]
  return {
    id: JSON.stringify(rules),
    seesEverything: rules.every((patterns) => patterns.length === 0),
    seesServer,
    seesTool: (server, tool) => seesServer(server) && allows(tools, `${server}/${tool}`),
  }
}

function allows({ allow, deny }: AccessRules, name: string): boolean {
  return (allow.length === 0 || matchesAny(allow, name)) && !matchesAny(deny, name)
}

/** Returns whether two users, or one user at two times, may do the same. */
export function hasSameRights(one: User | undefined, other: User | undefined): boolean {
  return one?.profile === other?.profile || JSON.stringify(one?.profile) === JSON.stringify(other?.profile)
}
