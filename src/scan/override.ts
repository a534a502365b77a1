// Detects text that tells the model to drop its instructions, to assume another role, or to obey this text above all.
import { type Phrase, words } from './phrases.ts'

const EARLIER = 'previous|prior|earlier|above|preceding|foregoing|former|past'
const ORDERS =
  '(?:instruction|prompt|directive|guideline|guardrail|rule|constraint|restriction|command|order|message|request)s?|polic(?:y|ies)|context|conversation|training|programming'
const DROP =
  "(?<!\\b(?:not|never) )(?:ignor(?:e|es|ing)|disregard(?:s|ing)?|forget(?:s|ting)?|abandon|neglect|pay no attention to|stop following|(?:do not|don't|never|no longer) (?:follow|obey))"

const dropsInstructions: Phrase = {
  level: 'warn',
  message: 'it tells the model to drop its instructions',
  patterns: [
    words`\b(?:${DROP}|overrid(?:e|es|ing)|overrul(?:e|es|ing)|bypass|discard) (?:(?:all|any|every|each|of|the|your|these|those|my|and) ){0,4}(?:${EARLIER})(?: \w+){0,2} (?:${ORDERS})\b`,
    words`\b${DROP} (?:(?:all|any|of|the) ){0,3}(?:your|system|safety|developer|user's|initial|original)(?: \w+){0,2} (?:${ORDERS})\b`,
    // Honest servers say to ignore instructions contained in data.
    words`\b(?:ignore|disregard|forget|bypass) (?:(?:all|any|of|the) ){1,3}(?:instruction|prompt|directive|guideline|guardrail)s\b(?! (?:found|contained|embedded|returned|in|within|inside|from|that|it|appearing|or)\b)`,
    words`\b${DROP} everything (?:above|before|you|that|said|else|prior|previous)`,
    // German
    words`ignorier(?:en sie|e|t)? .{0,40}(?:anweisung|instruktion|vorgabe|regel|befehl)`,
    words`(?:vergiss|vergessen sie|missachte|missachten sie) .{0,30}(?:anweisung|instruktion|vorgabe|regel|befehl)`,
    // French
    words`\b(?:ignore[rz]?|oublie[rz]?|(?:tiens|tenez) pas compte) .{0,30}(?:instructions|consignes|directives|règles).{0,20}(?:précédent|antérieur|ci-dessus|initial)`,
    words`\b(?:ignore[rz]?|oublie[rz]?) tou(?:te)?s (?:les|tes|vos) (?:\w+ )?(?:instructions|consignes|directives|règles)`,
    // Spanish, Portuguese, Italian
    words`\b(?:ignor[ae]|olvid[ae]|omit[ae]|descart[ae]) .{0,30}(?:instrucciones|indicaciones|reglas|órdenes|directrices)`,
    words`\b(?:ignor[aei]|esqueça|dimentica) .{0,25}(?:instruções|istruzioni).{0,20}(?:anterior|precedent)`,
    // Chinese, Japanese, Korean
    words`(?:忽略|无视|無視|忘记|忘記|忽視|不要理会|不要遵守).{0,10}(?:之前|以前|先前|上面|以上|前面|所有|此前|系统|系統|一切).{0,10}(?:指令|指示|提示|规则|規則|命令|要求|说明|說明)`,
    words`(?:以前|これまで|上記|前)の.{0,10}(?:指示|命令|指令).{0,8}(?:無視|忘れ)`,
    words`(?:이전|위의|앞의|기존).{0,10}(?:지시|명령|지침).{0,10}(?:무시|잊)`,
    // Russian
    words`(?:игнорируй|забудь|отбрось|не обращай(?:те)? внимания на|не соблюдай).{0,30}(?:инструкц|указани|команд|правил|предписани)`,
  ],
}

const givesRole: Phrase = {
  level: 'warn',
  message: 'it gives the model another role',
  patterns: [
    words`\byou are now (?:an? |in (?:\w+ ){0,2}mode|acting|operating|free |no longer|unrestricted|dan\b)`,
    words`\bfrom now on,? (?:you(?:r| are| will| must| should)|act|behave|pretend|ignore|obey|treat)\b`,
    words`\b(?:pretend|act as though|act as if|behave as if) (?:to be|that you|you (?:are|were|have))\b`,
    words`\b(?:act|respond|behave) as an? (?:unrestricted|uncensored|jailbroken|evil|root|admin\w*|different)\b`,
    words`\b(?:god|dan|jailbreak|unrestricted) mode\b`,
    words`\bdu bist (?:ab )?(?:jetzt|nun|sofort) `,
    words`\b(?:tu es|vous êtes) (?:maintenant|désormais) `,
    words`\b(?:ahora eres|a partir de ahora,? (?:eres|debes|actúa))`,
    words`你现在是|你現在是|(?:从现在(?:开始|起)|從現在(?:開始|起))[,，]?.{0,4}你`,
    words`(?:теперь ты|ты теперь|отныне ты|с этого момента ты) `,
  ],
}

const posesAsSystem: Phrase = {
  level: 'warn',
  message: 'it poses as the system',
  patterns: [
    words`\b(?:new|updated|revised|real|actual|true|hidden) system (?:prompt|instruction|message|directive)s?(?: follows?)? ?:`,
    words`\byour (?:new|real|actual|true) (?:system )?(?:instructions?|prompt|goal|task|role|objective|purpose|orders)(?: is| are| ?:)`,
    words`\bsystem (?:prompt|message|instruction|rule)s? (?:has|have|is|are)(?: been| now)? (?:updated|replaced|changed|overridden|superseded|void)`,
    words`\b(?:system|admin|developer|security|hidden|secret|override)[ _-](?:override|notice|directive|instruction|note|command)s?\]? ?[:|]`,
    words`\[ ?(?:system|admin|developer|root)(?: (?:note|message|instruction|override|notice|directive|prompt|command)s?| ?\] ?:) ?\]?`,
    words`\b(?:begin|start|end) (?:of )?(?:new |hidden )?system (?:prompt|message|instructions)\b`,
    words`\b(?:replace|overwrite|rewrite) your (?:\w+ )?(?:prompt|instructions|goals?)\b`,
  ],
}

const standsAbove: Phrase = {
  level: 'warn',
  message: 'it claims authority over the user or the system',
  patterns: [
    words`\b(?:instruction|rule|directive|requirement|message)s? (?:takes?|ha(?:s|ve)|gets?) (?:\w+ )?(?:precedence|priority) over\b`,
    words`\b(?:instruction|rule|directive)s? (?:overrides?|supersedes?|outranks?) (?:all|any|every|the (?:user|system)|your|previous|other)\b`,
    words`\b(?:regardless of|no matter) (?:what )?(?:the )?user(?:'s)? (?:says?|asks?|wants?|instruct\w*|objects?|request\w*|wishes|preferences?|intent)\b`,
    words`\beven if (?:the )?user (?:asks?|tells?|says?|objects?|refuses?|declines?|instructs?)(?: you)?(?: not| otherwise| to stop|[,.]| or )`,
  ],
}

const asksForBehaviour: Phrase = {
  level: 'note',
  message: 'it tells the model how to behave',
  patterns: [
    words`\byou (?:must|should|will|are to|need to) (?:adopt|assume|take on|become|obey|act as|behave)\b`,
    words`\b(?:reprogram|governed by these|your (?:subsequent|next|future) (?:responses?|answers?|behaviou?r))`,
  ],
}

/** Phrases that replace the model's instructions, role or chain of authority. */
export const overridePhrases: readonly Phrase[] = [
  dropsInstructions,
  givesRole,
  posesAsSystem,
  standsAbove,
  asksForBehaviour,
]
