// How many gateways stand above a process. One that is configured as its own server would start itself without end.

export const DEPTH = 'TOOLSHELF_DEPTH'

export function depthOf(environment: NodeJS.ProcessEnv): number {
  return Number(environment[DEPTH]) || 0
}
