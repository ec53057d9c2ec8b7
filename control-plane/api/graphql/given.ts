/** Arguments that were given: a null of GraphQL is a field left out. */
export function given(args: object): object {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value != null))
}
