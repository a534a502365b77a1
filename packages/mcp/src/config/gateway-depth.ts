// Counts the nested gateways above this process: a gateway that is configured as its own server would start itself
// endlessly.

/** The environment variable with the number of gateways above a process. */
export const DEPTH = 'TOOLSHELF_DEPTH'

/** Returns the number of gateways above this process. */
export function depthOf(environment: NodeJS.ProcessEnv): number {
  return Number(environment[DEPTH]) || 0
}
