// Maps idioms whose words do not name what is meant ("on foot", "read aloud") to words that tools use for it.

/** One idiom per line: a pattern, then ` => ` and the words. `_` matches up to four words. */
const LINES = `
  on foot => walking directions
  by (?:bus|train|tram|subway|public transport) => transit directions
  how (?:do|can|would) (?:i|we|you) get (?:to|from|there) => directions route
  how far => distance
  how long (?:does|will|would) it take to (?:get|drive|walk|travel) => travel time directions
  money back|pay _ back => refund
  (?:read|say) (?:_ )?(?:aloud|out loud) => text to speech audio
  (?:turn|put|bring|say) _ in(?:to)? (?:english|german|french|spanish|italian|portuguese|chinese|japanese|korean|russian) => translate language
  how do you say => translate
  the hour (?:in|is it|now)|what hour => current time timezone
  (?:keep|bear) in mind => memory remember
  out of office|away message => vacation automatic reply
  take back|undo what => cancel revert
  call(?:ed)? off => cancel
  put(?:ting)? off|push(?:ed)? back => reschedule postpone
  sign (?:me|us|him|her|them) up => register subscribe
  get rid of|throw (?:away|out)|do away with => delete remove
  (?:make|get) _ smaller => compress resize
  (?:make|get) _ (?:bigger|larger) => upscale resize
  what(?: is|'s) (?:on|in) (?:the|this) (?:picture|photo|image) => describe image
  (?:words?|text) (?:in|on|from) (?:the|this|a) (?:picture|photo|image|scan) => ocr extract text
  what _ looks? like|how (?:the|this) (?:page|site|screen) looks => screenshot
  in stock|how many _ left => inventory
  (?:have|has) not (?:yet )?paid|(?:haven't|hasn't) paid|owes? (?:us|me) => unpaid overdue invoice
  on duty|on call => oncall schedule
  who (?:wrote|changed|touched) (?:this|the) (?:line|code|file) => blame commit history
  now and then|on and off => flaky
  went wrong|blew up|broke down => error failure log
  still (?:up|alive)|up and running => health status
  let (?!me |us )_ know|give _ a heads.?up => notify send message
  ring (?:up )?(?:him|her|them|a person|someone)|give _ a (?:call|ring) => phone call
  (?:write|jot) (?:_ )?down|make a note => create note
  (?:cross|tick|check) (?:_ )?off => complete task
  hand (?:_ )?over => assign transfer
  who(?: is|'s) (?:free|available|busy)|when am i free => availability calendar
  what(?: is|'s) (?:new|happening|going on) => latest news
  (?:is it|will it) (?:going to )?(?:rain|snow)|umbrella => weather forecast
  (?:place|somewhere|flat|room) to (?:stay|sleep) => accommodation listing
  (?:place|somewhere) to eat => restaurant
  how much (?:is|are|does|do) _ (?:cost|worth) => price
  what was said|what _ said in => transcript
  roll _ back|how it was before|previous version => rollback restore
  (?:nobody|no one) but|only _ (?:may|can) (?:read|see|open|reach) => permission access
  where _ is defined => definition symbol
  start over|from scratch => reset
  put _ together|in (?:one|a single) file => merge combine
  keep an eye on => monitor
  stop (?:mailing|emailing|writing to) => pause unsubscribe
  tidy up|clean up => cleanup prune
  say (?:ok|okay|yes) to|sign _ off => approve
  whose birthday => contact
  drop (?:_ )?a (?:line|note) => send message
  hook (?:_ )?up => connect
  (?:turn|switch) (?:_ )?(?:on|off) => enable disable toggle
  (?:wake|shut) (?:_ )?(?:up|down) => start stop
  spell(?:ing)? mistakes?|typos? in => grammar proofread
  in (?:a few|fewer|simple) words|in short|too long to read => summarize summary
  behind the scenes|under the hood => log trace debug
  eats? up|takes? (?:up )?(?:so much|too much) => usage
  so slow|takes? (?:so|too) long => performance profile trace
  (?:give|grant|let) _ (?:access|in) => permission invite access
  kick (?:_ )?out|lock (?:_ )?out => remove ban member
  lend _ a hand|ask for help => support ticket
  due (?:today|tomorrow|this week) => task deadline
  make (?:_ )?public => publish
`

type Idiom = { readonly pattern: RegExp; readonly words: string }

const SOURCES = LINES.trim()
  .split('\n')
  .map((line) => {
    const [pattern = '', words = ''] = line.trim().split(' => ')
    return { source: `\\b(?:${pattern.replaceAll('_', "(?:[\\w'’-]+ ){0,3}[\\w'’-]+")})\\b`, words }
  })

const ANY = new RegExp(SOURCES.map(({ source }) => source).join('|'))
const IDIOMS: readonly Idiom[] = SOURCES.map(({ source, words }) => ({
  pattern: new RegExp(source),
  words,
}))

const MAX_TEXT_LENGTH = 500
const MAX_IDIOMS = 3

/** Returns the words that tools use for the idioms in a text; empty if it has none. */
export function idiomsOf(text: string): string {
  const beginning = text.slice(0, MAX_TEXT_LENGTH).toLowerCase()
  if (!ANY.test(beginning)) return ''
  return IDIOMS.filter(({ pattern }) => pattern.test(beginning))
    .slice(0, MAX_IDIOMS)
    .map(({ words }) => words)
    .join(' ')
}
