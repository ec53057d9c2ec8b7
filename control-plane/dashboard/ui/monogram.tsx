const TONES = 8
const MAX_LETTERS = 2
/** The seed of the hash of names. With it, the labs of the most calls have different colours. */
const SEED = 39

/** The mark of a lab, a provider or an account that has no logo here: its initials on a colour that its name picks. */
export function Monogram({ name }: { readonly name: string }) {
  return (
    <span className={`monogram tone-${toneOf(name)}`} aria-hidden="true">
      {initialsOf(name)}
    </span>
  )
}

function initialsOf(name: string): string {
  const parts = name
    .replace(/^0x/i, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')
  const [first = '', second] = parts
  const letters = second === undefined ? first.slice(0, MAX_LETTERS) : `${first.slice(0, 1)}${second.slice(0, 1)}`
  return letters.toUpperCase()
}

/** The place of a name among the colours, the same on every screen. */
function toneOf(name: string): number {
  let sum = SEED
  for (const letter of name.toLowerCase()) sum = (sum * 131 + (letter.codePointAt(0) ?? 0)) % 65_521
  return sum % TONES
}
