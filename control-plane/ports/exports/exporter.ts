/** A file to send. It is read in pieces, of text or of bytes. */
export type ExportFile = {
  readonly fileName: string
  readonly contentType: string
  readonly chunks: AsyncIterable<string | Uint8Array>
}

/** Writes the file of one kind of export. `query` is the query of its signed link. */
export type Exporter = (query: unknown) => ExportFile

/** Every kind of export that a link can open. */
export type Exporters = Readonly<Record<string, Exporter>>
