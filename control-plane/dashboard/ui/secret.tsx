import { useState } from 'react'
import { Button } from './button.tsx'
import { Code } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Check } from './fields.tsx'
import { saveFile } from './file.ts'
import { Notice } from './states.tsx'

export type ShownSecret = {
  readonly title: string
  readonly secret: string
  readonly about?: string
  readonly fileName?: string
}

/** A secret that is shown once. The dialog closes only when the reader confirms that the secret is stored. */
export function SecretOnce({ shown, onDone }: { readonly shown: ShownSecret; readonly onDone: () => void }) {
  const [isStored, setStored] = useState(false)
  return (
    <Dialog dialog={{ isOpen: true, close: onDone }} title={shown.title} isClosable={false}>
      <Notice tone="warn">This is the only time that you see this secret. Store it now.</Notice>
      <Code label={shown.title} text={shown.secret} />
      {shown.about === undefined ? null : <p className="muted">{shown.about}</p>}
      <Check label="I have stored it" isOn={isStored} onChange={setStored} />
      <div className="dialog-foot">
        <Button onClick={() => saveFile(shown.fileName ?? 'market-key.txt', `${shown.secret}\n`, 'text/plain')}>
          Download
        </Button>
        <Button kind="primary" disabled={!isStored} onClick={onDone}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}
