import type { ReactNode } from 'react'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'

type Props = {
  readonly label: string
  /** The command and its options. The address of the market is added. */
  readonly command: string
  readonly children?: ReactNode
}

/** The same act at the command line, folded: most readers press a button. */
export function ByCommand({ label, command, children }: Props) {
  return (
    <details className="twin">
      <summary>Use the command line</summary>
      <div className="form" style={{ paddingTop: 'var(--s3)' }}>
        <Code label={label} text={`npx market ${command} --url ${location.origin}`} />
        {children}
      </div>
    </details>
  )
}
