// Public API of cli/demo for other folders.
export { type Compared, comparedLines, compareWays } from './compare.ts'
export { provideServers } from './install.ts'
export { heading, plainLines } from './plain.ts'
export { type DemoEvent, type DemoOptions, playDemo } from './play.ts'
