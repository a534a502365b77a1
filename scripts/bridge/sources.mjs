// The inputs of the bridge: which repositories, at which commit, under which licence, and where their strings are.
// data/NOTICE names the same; a change here belongs there too.

/** The languages of the table, each with the codes under which sources keep it. */
export const LANGUAGES = {
  ar: ['ar', 'ar-SA'],
  ca: ['ca'],
  cs: ['cs'],
  da: ['da'],
  de: ['de'],
  el: ['el', 'el_GR'],
  es: ['es', 'es-419'],
  fa: ['fa'],
  fi: ['fi'],
  fr: ['fr'],
  he: ['he', 'iw', 'he_IL'],
  hu: ['hu'],
  id: ['id', 'in'],
  it: ['it'],
  ja: ['ja'],
  ko: ['ko', 'ko_KR'],
  nl: ['nl'],
  no: ['no', 'nb'],
  pl: ['pl'],
  pt: ['pt', 'pt_BR', 'pt-br', 'pt_PT', 'pt-PT', 'pt-rBR', 'pt-rPT', 'pt-BR'],
  ro: ['ro', 'ro_RO'],
  ru: ['ru'],
  sv: ['sv', 'sv_SE'],
  tr: ['tr'],
  uk: ['uk'],
  vi: ['vi'],
  zh: ['zh', 'zh-CN', 'zh-TW', 'zh_CN', 'zh_TW', 'zh-tw', 'zh-Hans', 'zh-Hant', 'zh-rCN', 'zh-rTW'].concat([
    'zh_Hans_CN',
    'zh_Hant_TW',
  ]),
}

/**
 * Repositories with strings in many languages. `files` has `*` for the language's code; `english` is the file of the
 * English strings, where the format does not hold both.
 */
export const REPOSITORIES = [
  {
    repository: 'unicode-org/cldr-json',
    commit: 'b08a82b582f1120d630d623f9e5073316741574d',
    format: 'annotations',
    files: ['cldr-json/cldr-annotations-full/annotations/*/annotations.json'],
    english: ['cldr-json/cldr-annotations-full/annotations/en/annotations.json'],
  },
  {
    repository: 'unicode-org/cldr-json',
    commit: 'b08a82b582f1120d630d623f9e5073316741574d',
    format: 'json',
    files: [
      'cldr-json/cldr-dates-full/main/*/dateFields.json',
      'cldr-json/cldr-dates-full/main/*/ca-gregorian.json',
      'cldr-json/cldr-units-full/main/*/units.json',
    ],
    english: [
      'cldr-json/cldr-dates-full/main/en/dateFields.json',
      'cldr-json/cldr-dates-full/main/en/ca-gregorian.json',
      'cldr-json/cldr-units-full/main/en/units.json',
    ],
  },
  {
    repository: 'openstreetmap/id-tagging-schema',
    commit: '44eff2b82b8bc3e8a2e1d2135a7c58c9b9a08dcf',
    format: 'json',
    files: ['dist/translations/*.json'],
    english: ['dist/translations/en.json'],
  },
  {
    repository: 'grocy/grocy',
    commit: 'acd061e2cde09fc5bc4e34673021039b25ab7067',
    format: 'po',
    files: ['localization/*/strings.po', 'localization/*/demo_data.po', 'localization/*/permissions.po'],
  },
  {
    repository: 'traccar/traccar-web',
    commit: 'aa5817b549e500a6d779ed97fcd23d0c27e7024a',
    format: 'json',
    files: ['src/resources/l10n/*.json'],
    english: ['src/resources/l10n/en.json'],
  },
  {
    repository: 'saleor/saleor-dashboard',
    commit: 'f5a84f3afb4f9b25cd0ff75434dfb5b70ea3c282',
    format: 'json',
    files: ['locale/*.json'],
    english: ['locale/defaultMessages.json'],
  },
  {
    repository: 'frappe/frappe',
    commit: 'ce01f8ada87e158c43ca842538cfcfc25bda8be8',
    format: 'po',
    files: ['frappe/locale/*.po'],
  },
  {
    repository: 'bagisto/bagisto',
    commit: '889a7c6bd7200867d528f6ddc2668798e7db05d8',
    format: 'php',
    files: [
      'packages/Webkul/Admin/src/Resources/lang/*/app.php',
      'packages/Webkul/Shop/src/Resources/lang/*/app.php',
    ],
    english: [
      'packages/Webkul/Admin/src/Resources/lang/en/app.php',
      'packages/Webkul/Shop/src/Resources/lang/en/app.php',
    ],
  },
  {
    repository: 'super-productivity/super-productivity',
    commit: 'bf3fd0b004b15a2fe884cfdb4ef7a5d0694a0443',
    format: 'json',
    files: ['src/assets/i18n/*.json'],
    english: ['src/assets/i18n/en.json'],
  },
  {
    repository: 'apache/superset',
    commit: 'f2610e9dca01cb35e831bb89c3fcd5ef17111482',
    format: 'po',
    files: ['superset/translations/*/LC_MESSAGES/messages.po'],
  },
  {
    repository: 'pgadmin-org/pgadmin4',
    commit: 'bc58657d3d3ab4209cdadea6d191b632cf1572cc',
    format: 'po',
    files: ['web/pgadmin/translations/*/LC_MESSAGES/messages.po'],
  },
  ...[
    ['aosp-mirror/platform_packages_apps_email', '9822725da07cc150f2410ad5360549018c3fbb1c'],
    ['LineageOS/android_packages_apps_Calendar', '6c28e8dd2d3cc3a20fc46a1298c6c1c7435c8808'],
    ['LineageOS/android_packages_apps_DeskClock', '501626741b616e5e41ad4b316e8cc9d8989a7967'],
    ['LineageOS/android_packages_apps_Contacts', '41570c7a7ae33052338af7730c7c64f871dc391d'],
    ['LineageOS/android_packages_apps_Settings', 'b136b3f2f801f86ab184b9cfb0b580fa9aa5c148'],
  ].map(([repository, commit]) => ({
    repository,
    commit,
    format: 'android',
    files: ['res/values-*/strings.xml'],
    english: ['res/values/strings.xml'],
  })),
]
