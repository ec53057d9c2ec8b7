import { Page } from './page.tsx'

type Chapter = { readonly title: string; readonly lines: readonly string[] }

/** A screen of text: short chapters under headings. */
export function Prose(props: {
  readonly title: string
  readonly about: string
  /** The day of the last change of the text. */
  readonly changed: string
  readonly chapters: readonly Chapter[]
}) {
  return (
    <Page title={props.title} about={`${props.about} Last changed ${props.changed}.`}>
      <div className="prose">
        {props.chapters.map(({ title, lines }) => (
          <section key={title}>
            <h2>{title}</h2>
            {lines.map((line) => (
              <p key={line}>{line}</p>
            ))}
          </section>
        ))}
      </div>
    </Page>
  )
}
