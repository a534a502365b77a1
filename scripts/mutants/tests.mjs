// Which test files are run for the mutants of which folder of src/: those that enter it in the same process. Tests that
// start the built program, measure time or memory, or read the sources as text are left out.
const byFolder = {
  core: ['test/{compact,fork,prefix,present,recover,reply,request,run,sendable,shelf,state}.test.ts'],
  'core/calls': ['test/{answer,check,classic,query,result,run,search-cases,search-input}.test.ts'],
  'core/figures': ['test/figures/*.test.ts'],
  'core/gate': [
    'test/{answer,bound,capabilities,gate,gate-faults,mode,recover,request-cases,shelf,threshold}.test.ts',
  ],
  'core/history': [
    'test/{announce-cases,history-cases,request-cases}.test.ts',
    'test/{announce,announce-budget,attack-history,attack-notes,bad-history,compact}.test.ts',
    'test/{loaded,normalize,pairs,siblings,wires}.test.ts',
  ],
  'core/oracle': ['test/oracle/*.test.ts'],
  'core/request': [
    'test/{announce,attack-history,bad-history,bound,compact,fork,loaded,mode,normalize}.test.ts',
    'test/{pairs,prefix,recover,request,request-cases,run,siblings,wires}.test.ts',
  ],
  'core/results': ['test/results/{preview,shelf}.test.ts'],
  'core/tools': ['test/{compact-definitions,definitions,names,policy,property-names,search-budget}.test.ts'],
  'core/wire': [
    'test/{request-cases,answer,bound,compact,loaded,mode,normalize,recover,request,wires}.test.ts',
  ],
  lib: ['test/{lib,clean-text,names,policy}.test.ts'],
  search: ['test/search/{deprecated,evaluate,fields,kernel,meaning,words}.test.ts'],
  validate: ['test/validate.test.ts', 'test/check.test.ts', 'test/mcp/config-schema.test.ts'],
  sandbox: ['test/sandbox/scripts.test.ts'],
  node: ['test/node/*.test.ts', 'test/capabilities.test.ts', 'test/agent/tools-bash.test.ts'],
  terminal: ['test/terminal/{layout,markdown}.test.ts'],
  embed: ['test/embed/*.test.ts', 'test/search/languages.test.ts'],
  rankers: ['test/search/*.test.ts'],
  mcp: ['test/mcp/{gateway-units,limits,protocol-units}.test.ts'],
  'mcp/config': ['test/mcp/config*.test.ts'],
  'mcp/gateway': [
    'test/mcp/{gateway-http,gateway-lists,gateway-offers,gateway-search,gateway-tools,gateway-units}.test.ts',
  ],
  'mcp/host': ['test/mcp/{gateway-units,host,host-calls,protocol-units}.test.ts'],
  'mcp/oauth': ['test/mcp/oauth.test.ts'],
  'mcp/pins': ['test/mcp/safety-pins.test.ts'],
  'mcp/redact': ['test/mcp/{protocol-units,redact-cases,redact.prop}.test.ts'],
  'mcp/session': ['test/mcp/{gateway-units,hostile-lists,hostile-output,protocol-units}.test.ts'],
  messages: [
    'test/messages/{conversation-cases,drain,held-bytes,long-numbers,newcomer,pass-unread,plan,read-request,rounds,scheduler}.test.ts',
    'test/messages/{statements-endpoint,statements-visibility,thinking,traces}.test.ts',
  ],
  'messages/hosted': ['test/messages/{conversation-cases,rounds,statements-searches,traces}.test.ts'],
  'messages/inbound': [
    'test/messages/inbound-{chat,responses,responses-deferral,responses-fuzz,responses-reply,responses-round-trip}.test.ts',
    'test/messages/prompt-cache.test.ts',
  ],
  'messages/json': ['test/messages/{json-bytes,json-cases,long-numbers,read-request}.test.ts'],
  'messages/shelve': [
    'test/messages/{bound-thinking,client-tools,conversation-cases,conversations,properties-shelve,remarks,restore,rounds}.test.ts',
  ],
  'messages/upstream': [
    'test/messages/{chat,chat-events,chat-request,kept-connections,prompt-cache}.test.ts',
    'test/messages/{forwarding,inbound-responses-round-trip,responses,responses-events,responses-reasoning}.test.ts',
    'test/messages/{script,script-file,script-search,streams-broken}.test.ts',
  ],
  'messages/wire': [
    'test/messages/{conversation-cases,lower-cases,lower-replies,properties,remarks,statements-visibility}.test.ts',
  ],
  agent: ['test/agent/{agent*,cache-marks,diff,long,meter,transcript,unreachable}.test.ts'],
  'agent/permissions': ['test/agent/permissions*.test.ts'],
  'agent/skills': ['test/agent/skills*.test.ts'],
  'agent/tools': ['test/agent/{diff,permissions-cases,tools*}.test.ts'],
  'agent/using': ['test/agent/using*.test.ts'],
  scan: ['test/mcp/{safety-scan,scan-cases}.test.ts'],
  doctor: ['test/mcp/{doctor,doctor-cases}.test.ts'],
  import: ['test/cli/{import,import-apply,import-cases}.test.ts'],
  cli: [
    'test/cli/*.test.ts',
    'test/terminal/{markdown,settle,status}.test.ts',
    'test/mcp/{gateway-cli,hold,oauth}.test.ts',
  ],
}

/** Never run: they read the sources, need dist/, start many processes, or hold a clock to what they measure. */
export const exclude = [
  '**/node_modules/**',
  'test/{budgets,doc-comments,docs,example,examples,exports,guides,layers,package,picture,statements}.test.ts',
]

/** The tests of the innermost folders that have some. */
export function testsFor(files) {
  const include = files.flatMap((file) => {
    const parts = file.split('/').slice(1)
    const folder = parts
      .map((_, index) => parts.slice(0, -1 - index).join('/'))
      .find((name) => byFolder[name])
    if (folder === undefined) throw new Error(`scripts/mutants/tests.mjs names no tests for ${file}`)
    return byFolder[folder]
  })
  return [...new Set(include)]
}
