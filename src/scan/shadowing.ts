// Detects text that reaches beyond its own tool: rules for other tools, or a claim to take precedence over them.
import { ADDRESS, type Phrase, words } from './phrases.ts'

const divertsOtherTools: Phrase = {
  level: 'warn',
  message: 'it diverts data that goes through other tools',
  patterns: [words`${ADDRESS}`],
  near: [
    words`\b(?:must|always|all|every|whenever|when|each)\b`,
    words`\b(?:bcc|cc|recipients?|forward(?:ed)?|redirect(?:ed)?|reroute[ds]?|divert(?:ed)?|copied|instead of|replace|change|(?:sent|send) (?:only )?(?:to|through|via))\b`,
    words`(?:mails?|messages?|payments?|transfers?|transactions?|invoices?|tools?)\b`,
  ],
}

const rulesOtherTools: Phrase = {
  level: 'warn',
  message: 'it makes rules for other tools',
  patterns: [
    words`\b(?:when|whenever|once|each time|every time) .{0,40}?\b(?:is|are|gets) (?:invoked|called|used|executed|run)\b`,
    words`\b(?:when|whenever|each time|every time|before|after) (?:you )?(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|run(?:ning)?) (?!this)`,
    words`\b(?:this tool|presence of this|existence of this|this description|this rule) .{0,30}?\b(?:affects?|influences?|changes?|modif(?:y|ies)|alters?|governs?)\b`,
  ],
  near: [
    words`\b(?:bcc|change the|replace the|redirect|rewrite|swap|reroute|substitute|behaviou?r of)\b`,
    words`\b(?:recipients?|address|phone number|amount|url|account|destination|other tools?|another tool|all tools|any tool)\b`,
  ],
}

const rulesCommands: Phrase = {
  level: 'warn',
  message: 'it dictates which commands are run',
  patterns: [
    words`\b(?:all|every|any) (?:\w+ )?(?:commands?|scripts?|tool calls?) (?:must|should|need to|have to) (?:include|be prefixed|begin|start|be preceded|end|run|go|be routed)\b`,
    words`\b(?:run|execute|evaluate) (?:the following |this |any )?(?:\w+ )?(?:commands?|script|code) (?:\w+ )?(?:before|first|silently|in the background)\b`,
  ],
}

const discredits: Phrase = {
  level: 'warn',
  message: 'it talks the model out of another tool',
  patterns: [
    words`\b(?:other|official|original|built-?in|real|existing|old) (?:\w+ ){0,3}(?:tools?|servers?|functions?) (?:is|are|has been|have been|was|were) (?:\w+ )?(?:compromised|malicious|unsafe|insecure|vulnerable|hacked|infected|disabled|revoked)\b`,
  ],
}

const comesFirst: Phrase = {
  level: 'note',
  message: 'it wants to be used before or instead of other tools',
  patterns: [
    words`\bbefore (?:using |calling |running |you )?(?:any|all|every)(?: \w+){0,2} (?:tools?|action|operation|response|task)\b`,
    words`\b(?:instead of|rather than|over|in place of) (?:any |all |the )?(?:other|built-?in|native|standard|default|existing) (?:\w+ )?tools?\b`,
    words`\b(?:do not|don't|never) (?:use|call|trust) (?:any |the )?(?:other|official|original|built-?in) (?:\w+ ){0,3}(?:tools?|servers?|functions?)\b`,
    words`\b(?:call|use|run|invoke) this (?:tool )?first\b|\bmust be (?:called|used|run|invoked) (?:first|before)\b`,
  ],
}

const insists: Phrase = {
  level: 'note',
  message: 'it insists on being used',
  patterns: [
    words`\byou must (?:always )?(?:use|call|run|invoke)\b|\balways (?:use|call|run|invoke) this\b`,
    words`\bmandatory\b.{0,40}?\b(?:tool|call|step)\b`,
  ],
}

/** Phrases that govern other tools or discredit them. */
export const shadowingPhrases: readonly Phrase[] = [
  divertsOtherTools,
  rulesOtherTools,
  rulesCommands,
  discredits,
  comesFirst,
  insists,
]
