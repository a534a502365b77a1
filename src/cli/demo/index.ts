// The door of cli/demo: what other folders use of it.
export { type Compared, comparedLines, compareWays } from './compare.ts'
export { provideServers } from './install.ts'
export { heading, plainLines } from './plain.ts'
export { type DemoEvent, type DemoOptions, playDemo } from './play.ts'
