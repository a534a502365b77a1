// Exports of cli/trust for other folders.

export { decideTrust, isTrusted, questionText, summaryOf, trustItemLines, trustNow } from './decide.ts'
export { machineAt, openProject, projectOf, showQuestion, trustOption, trustStore } from './open.ts'
export { type Project, readProject, troublesOf } from './project.ts'
export type { TrustRecord, TrustStore } from './store.ts'
