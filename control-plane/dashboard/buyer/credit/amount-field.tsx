import { Input, Segments } from '#control-plane/dashboard/ui/fields.tsx'

/** The least amount that a wallet signs for, in US dollars: the treasury pays its gas. */
export const LEAST_USD = 1
/** The amount of a command before the reader chooses one, in US dollars. */
export const EXAMPLE_USD = 5

const CHOICES = ['5', '20', '50', '100'].map((value) => ({ value, label: `$${value}` }))

type Props = {
  readonly label: string
  readonly hint: string
  readonly value: string
  readonly onChange: (amountUsd: string) => void
}

/** An amount in US dollars that a wallet signs for: usual ones by a button, others in the field. */
export function AmountField({ label, hint, value, onChange }: Props) {
  return (
    <>
      <Input
        label={label}
        hint={hint}
        type="number"
        required
        min={LEAST_USD}
        step={0.000001}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <Segments
        label="Usual amounts"
        value={CHOICES.find((choice) => choice.value === value)?.value}
        choices={CHOICES}
        onChoose={onChange}
      />
    </>
  )
}
