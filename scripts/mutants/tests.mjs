// Maps folders of src/ to the test files that run for their mutants: those that call the folder in the same process. Tests that
// start the built program, measure time or memory, or read the sources as text are left out.
const byFolder = {
  core: ['test/*.test.ts', 'test/{figures,oracle,results}/*.test.ts', 'test/search/learned.test.ts'],
  lib: ['test/{lib,clean-text,names,policy}.test.ts'],
  search: ['test/search/*.test.ts', 'test/search-cases.test.ts'],
  validate: ['test/{check,validate,validate-cases}.test.ts', 'test/mcp/config-schema.test.ts'],
  node: [
    'test/node/*.test.ts',
    'test/{capabilities,messages/buffer-pool,agent/tools-bash,mcp/processes,results/stores}.test.ts',
  ],
  store: ['test/store/*.test.ts'],
  users: [
    'test/users/{attacks,authenticator,commands,credentials,credentials-cli,gateway-users}.test.ts',
    'test/users/{oauth-cases,oauth-tokens,records-cases,usage}.test.ts',
  ],
  operate: ['test/operate/{mcp-http,messages-http,readiness,registry,tls}.test.ts'],
  otel: ['test/otel/{records-cases,telemetry}.test.ts'],
  sandbox: ['test/sandbox/{run-units,scripts,script-units}.test.ts'],
  terminal: ['test/terminal/{layout,markdown}.test.ts'],
  embed: ['test/embed/*.test.ts', 'test/search/languages.test.ts'],
  rankers: ['test/search/*.test.ts', 'test/embed/*.test.ts'],
  mcp: ['test/mcp/{gateway-units,limits,parts-cases,protocol-units}.test.ts'],
  'mcp/cache': ['test/mcp/{cache-cases,gateway-greeting}.test.ts', 'test/store/shared-state.test.ts'],
  'mcp/config': ['test/mcp/config*.test.ts'],
  'mcp/gateway': [
    'test/mcp/gateway-{calls,events,greeting,http,lists,offers,pages,parts,passing,questions,resources}.test.ts',
    'test/mcp/gateway-{results,scripts,search,tasks,tools,units,*-units,cases,*-cases}.test.ts',
    'test/{mcp/parts-cases,users/attacks,users/gateway-users}.test.ts',
    'test/{operate/mcp-http,replicas/sessions,replicas/stateless}.test.ts',
  ],
  'mcp/greeting': [
    'test/mcp/{gateway-greeting,gateway-offers,gateway-units,parts-cases,protocol-units}.test.ts',
  ],
  'mcp/host': [
    'test/mcp/{gateway-units,host-units,host-cases,protocol-units,session-units}.test.ts',
    'test/mcp/{hold,host-calls,hostile-questions,limits,safety-pins}.test.ts',
  ],
  'mcp/oauth': [
    'test/mcp/{oauth-cases,oauth-login-cases,oauth-units,oauth}.test.ts',
    'test/store/shared-state.test.ts',
  ],
  'mcp/pins': [
    'test/mcp/{parts-cases,protocol-units,safety-pins}.test.ts',
    'test/store/shared-state.test.ts',
  ],
  'mcp/redact': ['test/mcp/{protocol-units,redact-cases,redact.prop}.test.ts'],
  'mcp/session': ['test/mcp/{host-calls,hostile-lists,protocol-units,session-*}.test.ts'],
  'mcp/personal': ['test/users/{credentials-cli,personal-cases}.test.ts'],
  'mcp/replicas': ['test/replicas/{strangers,units}.test.ts'],
  messages: [
    'test/messages/*.test.ts',
    'test/operate/messages-http.test.ts',
    'test/users/serve-users.test.ts',
  ],
  agent: ['test/agent/{agent*,cache-marks,diff,long,meter,transcript,unreachable}.test.ts'],
  'agent/permissions': ['test/agent/permissions*.test.ts'],
  'agent/skills': ['test/agent/skills*.test.ts'],
  'agent/tools': ['test/agent/{diff,permissions-cases,tools*}.test.ts'],
  'agent/using': ['test/agent/using*.test.ts'],
  scan: ['test/mcp/{safety-scan,scan-cases}.test.ts'],
  doctor: ['test/mcp/{doctor,doctor-cases}.test.ts'],
  import: ['test/cli/{import,import-apply,import-cases}.test.ts'],
  inspector: ['test/inspector/{access,events,login,model,servers,*-cases,*-parts}.test.ts'],
  'inspector/events': ['test/inspector/events*.test.ts'],
  'inspector/model': ['test/inspector/model*.test.ts'],
  'inspector/server': ['test/inspector/{access,login,servers,server-cases}.test.ts'],
  // Without audit, cli, demo, gateway-cli, hold, import-apply and serve, so that a run ends.
  cli: [
    'test/cli/{completion,doctor,import,inspect,learned,permissions,pins,run}.test.ts',
    'test/cli/{servers,sessions,trust,wrap,*-cases,*-units}.test.ts',
    'test/users/{commands,credentials-cli}.test.ts',
    'test/mcp/oauth.test.ts',
  ],
  // Most files of test/terminal draw whole chats and wait for them: with a mutant, for as long as they may.
  'cli/chat': ['test/terminal/{context,markdown,*-units}.test.ts'],
  'cli/demo': ['test/cli/{demo-install,demo,demo-units}.test.ts'],
  'cli/doctor': ['test/cli/{doctor,doctor-units}.test.ts'],
  'cli/events': ['test/cli/{audit,events-units}.test.ts'],
  'cli/gateway': [
    'test/cli/{inspect,serve,gateway-cases,gateway-units}.test.ts',
    'test/users/{commands,oauth-reload}.test.ts',
  ],
  'cli/import': ['test/cli/{import,import-apply,import-apply-cases}.test.ts'],
  'cli/servers': ['test/cli/{servers,servers-units}.test.ts', 'test/users/credentials-cli.test.ts'],
  'cli/session': ['test/cli/{run,session-cases,session-units}.test.ts'],
  'cli/tools': ['test/cli/{cli,completion,encoder-progress,learned,tools-units}.test.ts'],
  'cli/trust': ['test/cli/{trust,trust-units}.test.ts'],
  'cli/user-files': ['test/cli/{learned,permissions,sessions,user-files-units}.test.ts'],
}

/** Never run: they read the sources, need dist/, start many processes, take too long, or hold a clock to what they measure. */
export const exclude = [
  '**/node_modules/**',
  'test/messages/figures-random.test.ts',
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
