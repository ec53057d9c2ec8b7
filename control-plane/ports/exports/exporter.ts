/** A file to send. Its text comes in pieces and is never whole in memory. */
export type ExportFile = {
  readonly fileName: string
  readonly contentType: string
  readonly chunks: AsyncIterable<string>
}

/** Writes the file of one kind of export. `query` is the one that its link was signed for. */
export type Exporter = (query: unknown) => ExportFile

/** Every kind of export that a link can open. */
export type Exporters = Readonly<Record<string, Exporter>>
