// Exports of cli/trust for other folders.

export { decideTrust, isTrusted, trustNow } from './decide.ts'
export { machineAt, openProject, projectOf, screenSize, trustOption, trustStore } from './open.ts'
export { type Project, readProject, troublesOf } from './project.ts'
export { questionText, summaryOf, trustItemLines } from './question.ts'
export type { TrustRecord, TrustStore } from './store.ts'
