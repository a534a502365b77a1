// Lists words that say nothing about a tool. Rarity alone would weigh them wrongly: "want" and "please" occur in one
// tool of a hundred, "get" in half of them.

const split = (text: string): string[] => text.trim().split(/\s+/)

/** Function words: never indexed, never searched. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  split(`
    a an the this that these those i me my mine myself we us our ours you your yours he him his she her hers it its
    they them their theirs who whom whose which what when where why how is are was were be been being am do does did
    doing have has had having can could will would shall should may might must cannot of to in on at by for from with
    about as into onto through during before after between out off over under again then than there here so such too
    very and or but nor if because while until upon per via within without against toward towards along across among
    any all both each every few more most other others another some no not only own same just also even ever yet
    im ive id ill youre youve hes shes theyre weve were thats whats heres theres lets dont doesnt didnt cant couldnt
    wont wouldnt shouldnt isnt arent wasnt werent havent hasnt hadnt don doesn didn couldn wouldn shouldn isn aren
    wasn weren haven hasn hadn ll ve re etc eg ie
  `),
)

/** Words that people and models put around what they want. Indexed, but searched only if a query has no other words. */
export const FILLER_WORDS: ReadonlySet<string> = new Set(
  split(`
    please kindly want wants wanted wish need needs needed like likes help helps helping assist assistance hi hello hey
    thanks thank appreciate able let know tell give gives giving wondering wonder trying try tries looking seeking
    interested going gonna wanna gotta ok okay sure actually really maybe perhaps possible possibly probably currently
    quickly easily simply something anything everything someone anyone somebody anybody thing things stuff way ways
    kind lot lots bit regarding concerning related specific specifically certain particular given following ensure
    finally lastly firstly secondly thirdly additionally furthermore moreover afterwards afterward next now today
    ask asking question questions planning plan plans decided hoping hope think thinking guess love enjoy
    mention mentioned called named titled various several many much different useful available required necessary
    good great nice best better suitable appropriate relevant well quick easy new
    use used using uses make makes making take takes taking go goes come comes say says said see seen
    tool tools function functions service capability
  `),
)
