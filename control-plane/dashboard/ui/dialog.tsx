import type { ReactNode } from 'react'
import { useCallback, useEffect, useId, useRef, useState } from 'react'
import { Button } from './button.tsx'

export type DialogState = { readonly isOpen: boolean; readonly open: () => void; readonly close: () => void }

export function useDialog(): DialogState {
  const [isOpen, setOpen] = useState(false)
  const open = useCallback(() => setOpen(true), [])
  const close = useCallback(() => setOpen(false), [])
  return { isOpen, open, close }
}

type Props = {
  readonly dialog: Pick<DialogState, 'isOpen' | 'close'>
  readonly title: string
  readonly place?: 'right' | 'middle'
  /** False while what it shows is seen once: then only its own button closes it. */
  readonly isClosable?: boolean
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A native dialog: focus stays in it, Escape closes it, and what is below is inert. */
export function Dialog({ dialog, title, place = 'middle', isClosable = true, actions, children }: Props) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const { isOpen, close } = dialog
  useEffect(() => {
    const { current } = element
    if (isOpen && current?.open === false) current.showModal()
    if (!isOpen && current?.open === true) current.close()
  }, [isOpen])
  if (!isOpen) return null
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same.
    <dialog
      ref={element}
      className="dialog fade"
      data-place={place}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        if (isClosable) close()
      }}
      onClick={(event) => {
        if (isClosable && event.target === element.current) close()
      }}
    >
      <div className="dialog-head">
        <h2 id={heading}>{title}</h2>
        <div className="actions">
          {actions}
          {isClosable ? (
            <Button kind="quiet" onClick={close}>
              Close <kbd>Esc</kbd>
            </Button>
          ) : null}
        </div>
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}
