import type { Media } from './reply.ts'

/** A picture, a sound or a film of an answer, with a way to keep it. */
export function MediaView({ media, label }: { readonly media: Media; readonly label: string }) {
  const { kind, url, name } = media
  return (
    <figure className="play-media">
      {kind === 'picture' ? <img src={url} alt={label} /> : null}
      {/* biome-ignore lint/a11y/useMediaCaption: An answer comes without captions. */}
      {kind === 'sound' ? <audio controls src={url} aria-label={label} /> : null}
      {/* biome-ignore lint/a11y/useMediaCaption: An answer comes without captions. */}
      {kind === 'film' ? <video controls preload="metadata" src={url} aria-label={label} /> : null}
      <figcaption>
        {kind === 'file' ? (
          <a className="button" href={url} target="_blank" rel="noreferrer noopener">
            Open the file at its provider
          </a>
        ) : (
          <a className="button" href={url} download={name}>
            Download
          </a>
        )}
      </figcaption>
    </figure>
  )
}
