/** An element of a page with its attributes and what is in it, or a text. The build makes it of Markdown. */
export type DocNode = string | DocElement
export type DocElement = readonly [tag: string, attributes: Readonly<Record<string, string>>, ...children: DocNode[]]

/** A page of the documentation, as `/docs/<name>.json` answers it. */
export type DocPage = {
  readonly title: string
  readonly body: readonly DocNode[]
  /** The headings of its chapters, with their anchors. */
  readonly chapters: readonly { readonly id: string; readonly title: string }[]
  /** The address of its Markdown. */
  readonly source: string
}

/** A line of the menu. */
export type DocLink = { readonly to: string; readonly label: string }
export type DocGroup = { readonly title: string; readonly links: readonly DocLink[] }

/** A method and a path of an operation. Each has a page. */
export type DocPlace = { readonly to: string; readonly method: string; readonly path: string }
/** An operation with all its places. The first one is the usual one. */
export type DocOperation = { readonly label: string; readonly places: readonly DocPlace[] }
export type OperationGroup = {
  readonly title: string
  /** The anchor of the group in the list of operations. */
  readonly id: string
  readonly about: string
  readonly operations: readonly DocOperation[]
}

/** `/docs/menu.json`: the groups of texts, and the groups of operations. */
export type DocMenu = { readonly texts: readonly DocGroup[]; readonly operations: readonly OperationGroup[] }

/** The page that lists all operations. */
export const REFERENCE = '/docs/reference'

/** Fields of the search index. The build and the page have to name the same. */
export const SEARCH_OPTIONS = {
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page', 'excerpt'],
}

/** Languages of examples that a reader chooses between. */
export const DOC_LANGUAGES = ['sh', 'python', 'ts', 'js'] as const
export type DocLanguage = (typeof DOC_LANGUAGES)[number]
