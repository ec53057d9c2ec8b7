/** The text of a query to the GraphQL door, with the types of its answer and its variables. */
export class TypedDocumentString<Result, Variables> {
  readonly #text: string
  /** Never set. It carries the types. */
  declare readonly types?: (variables: Variables) => Result

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}
