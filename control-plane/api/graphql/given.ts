/** The arguments that were given. A null of GraphQL counts as left out. */
export function given(args: object): object {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value != null))
}
