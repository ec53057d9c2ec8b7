/** A file on its way: its text comes piece by piece and is never whole in memory. */
export type ExportFile = {
  readonly fileName: string
  readonly contentType: string
  readonly chunks: AsyncIterable<string>
}

/** Makes the file of one kind of export out of the query that its link was signed for. */
export type Exporter = (query: unknown) => ExportFile

/** Every kind of export that a link can open. */
export type Exporters = Readonly<Record<string, Exporter>>
