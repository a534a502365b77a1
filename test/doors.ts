// Every public door, for the suites: they import this file and test/support, and nothing of src/. Whoever moves or renames a
// door changes one line here.
export * from '../src/entries/agent.ts'
export * from '../src/entries/core.ts'
export * from '../src/entries/mcp.ts'
export * from '../src/entries/messages.ts'
export * from '../src/entries/oracle.ts'
export * from '../src/index.ts'
export * from '../src/store/memory.ts'
export * from '../src/store/open.ts'
export * from '../src/store/stored-results.ts'
export * from '../src/store/types.ts'
export * from '../src/store/with-lock.ts'
