// Counts the gateways above this process: one that is configured as its own server would start itself endlessly.

export const DEPTH = 'TOOLSHELF_DEPTH'

export function depthOf(environment: NodeJS.ProcessEnv): number {
  return Number(environment[DEPTH]) || 0
}
