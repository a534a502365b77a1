// Decides which servers and tools a profile may see: one predicate, which the gateway applies to everything it returns.
// Implements H3.
import {
  matchesServer,
  matchesTool,
  readServerPattern,
  readToolPattern,
  splitToolName,
} from '../lib/names.ts'
import type { Profile, User } from './types.ts'

/** Which servers and tools a user may see, and therefore search, list, call and read. */
export type Rights = {
  /** Equal for two profiles with the same rules. */
  readonly id: string
  /** Has no rules: nothing is hidden, whatever servers there will be. */
  readonly seesEverything: boolean
  seesServer(server: string): boolean
  /** Returns whether the user may see a tool. @param name - The name that its users see, such as `github__get_issue`. */
  seesTool(name: string): boolean
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
  const serverRules = readRules(servers, readServerPattern)
  const toolRules = readRules(tools, readToolPattern)
  const seesServer = (server: string) => allows(serverRules, (pattern) => matchesServer(pattern, server))
  const rules = [servers.allow, servers.deny, tools.allow, tools.deny]
  return {
    id: JSON.stringify(rules),
    seesEverything: rules.every((patterns) => patterns.length === 0),
    seesServer,
    seesTool(name) {
      const tool = splitToolName(name)
      if (!tool) return false
      return seesServer(tool.server) && allows(toolRules, (pattern) => matchesTool(pattern, tool))
    },
  }
}

type Rules<Pattern> = { readonly allow: readonly Pattern[]; readonly deny: readonly Pattern[] }

function readRules<Pattern>({ allow, deny }: Rules<string>, read: (text: string) => Pattern): Rules<Pattern> {
  return { allow: allow.map(read), deny: deny.map(read) }
}

function allows<Pattern>({ allow, deny }: Rules<Pattern>, matches: (pattern: Pattern) => boolean): boolean {
  return (allow.length === 0 || allow.some(matches)) && !deny.some(matches)
}

/** Returns whether two users, or one user at two times, may do the same. */
export function hasSameRights(one: User | undefined, other: User | undefined): boolean {
  return one?.profile === other?.profile || JSON.stringify(one?.profile) === JSON.stringify(other?.profile)
}
