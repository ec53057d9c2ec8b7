import { Button } from './button.tsx'
import { useToast } from './toast.tsx'

export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const say = useToast()
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => say('Copied.'),
      () => say('This browser does not let a page copy. Select the text instead.'),
    )
  }
  return <Button onClick={copy}>{label}</Button>
}

/** Text to paste somewhere. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <section className="code" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls can be scrolled by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} />
    </section>
  )
}
