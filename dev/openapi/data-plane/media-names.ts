import type { MemberTable } from '#shared/media-members.ts'

/** The other names of a member. */
export function otherNamesOf([own, ...others]: readonly string[]): string {
  return `Also as ${others
    .filter((name) => name !== own)
    .map(code)
    .join(', ')}.`
}

/** The members that are refused, by the reason. */
export function refusedOf({ refusals }: MemberTable): string {
  const names = new Map<string, string[]>()
  for (const [name, words] of Object.entries(refusals)) names.set(words, [...(names.get(words) ?? []), name])
  const groups = [...names].map(([words, members]) => `${members.map(code).join(', ')} (${words})`)
  return `Refused, because they are passed to no provider: ${groups.join('; ')}.`
}

function code(name: string): string {
  return `\`${name}\``
}
