/** A file to send. Its text is read in pieces and is never whole in memory. */
export type ExportFile = {
  readonly fileName: string
  readonly contentType: string
  readonly chunks: AsyncIterable<string>
}

/** Writes the file of one kind of export. `query` is the query of its signed link. */
export type Exporter = (query: unknown) => ExportFile

/** Every kind of export that a link can open. */
export type Exporters = Readonly<Record<string, Exporter>>
