// A choice between two or three views, as buttons of which one is pressed.

export function Switch<Value extends string>({
  label,
  value,
  choices,
  onChoose,
}: {
  readonly label: string
  readonly value: Value
  readonly choices: readonly { readonly value: Value; readonly text: string }[]
  readonly onChoose: (value: Value) => void
}) {
  return (
    <fieldset class="switch" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          class="quiet"
          aria-pressed={choice.value === value}
          onClick={() => onChoose(choice.value)}
        >
          {choice.text}
        </button>
      ))}
    </fieldset>
  )
}
