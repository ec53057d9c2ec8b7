import type { ReactNode } from 'react'
import { createContext, useCallback, useContext, useState } from 'react'

const SHOWN_MS = 5_000
const MAX_SHOWN = 3

type Toast = { readonly id: number; readonly text: string }

const ToastContext = createContext<(text: string) => void>(() => undefined)

/** Short sentences in a corner, which screen readers read out. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const say = useCallback((text: string) => {
    const id = performance.now()
    setToasts((shown) => [...shown, { id, text }].slice(-MAX_SHOWN))
    setTimeout(() => setToasts((shown) => shown.filter((toast) => toast.id !== id)), SHOWN_MS)
  }, [])
  return (
    <ToastContext value={say}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text }) => (
          <p key={id} className="toast fade">
            {text}
          </p>
        ))}
      </div>
    </ToastContext>
  )
}

export function useToast(): (text: string) => void {
  return useContext(ToastContext)
}
