// Exports of cli/demo for other folders.
export { type InstallOptions, provideServers } from './install.ts'
export type { Ledger } from './ledger.ts'
export { heading, plainLines } from './plain.ts'
export { type DemoEvent, type DemoOptions, playDemo } from './play.ts'
export { type ConfigIn, demoConfig } from './servers.ts'
