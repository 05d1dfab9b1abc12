//! The few JNI calls that a launcher makes.

use jni_sys::{
    JNI_OK, JNIEnv, JNINativeInterface_, JavaVM, JavaVMInitArgs, JavaVMOption, jclass, jint,
    jmethodID, jobject, jobjectArray, jvalue,
};
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The VM's library.
pub struct Library {
    create: CreateJavaVm,
}

type CreateJavaVm =
    unsafe extern "C" fn(*mut *mut JavaVM, *mut *mut JNIEnv, *mut JavaVMInitArgs) -> jint;

/// A running VM, seen from its main thread.
pub struct Vm {
    vm: *mut JavaVM,
    env: *mut JNIEnv,
}

/// A Java exception is pending.
pub struct Thrown;

impl Library {
    /// Opens `libjvm.so` so that the JDK's libraries, which name it, find this one.
    pub fn open(path: &Path) -> Result<Library, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: a C string; the library's initializers are ours.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            // SAFETY: dlopen has just failed on this thread, so there is a text.
            let text = unsafe { std::ffi::CStr::from_ptr(libc::dlerror()) };
            return Err(format!("Error: cannot load the VM: {}", text.to_string_lossy()));
        }
        // SAFETY: a handle of dlopen and a C string.
        let create = unsafe { libc::dlsym(library, c"JNI_CreateJavaVM".as_ptr()) };
        if create.is_null() {
            return Err(format!("Error: {} is not a Java VM", path.display()));
        }
        // SAFETY: the symbol has this type in every Java VM.
        let create = unsafe { std::mem::transmute::<*mut c_void, CreateJavaVm>(create) };
        Ok(Library { create })
    }

    /// Makes the VM; the calling thread becomes its main thread. The VM has said why when it cannot.
    pub fn create_vm(&self, options: &[String]) -> Option<Vm> {
        let texts: Vec<CString> = options
            .iter()
            .map(|text| CString::new(text.replace('\0', "")).expect("no NUL"))
            .collect();
        let mut options: Vec<JavaVMOption> = texts
            .iter()
            .map(|text| JavaVMOption {
                optionString: text.as_ptr().cast_mut(),
                extraInfo: std::ptr::null_mut(),
            })
            .collect();
        let mut arguments = JavaVMInitArgs {
            version: jni_sys::JNI_VERSION_1_6,
            nOptions: options.len() as jint,
            options: options.as_mut_ptr(),
            ignoreUnrecognized: false,
        };
        let mut made = Vm { vm: std::ptr::null_mut(), env: std::ptr::null_mut() };
        // SAFETY: all pointers are good for the call.
        let status = unsafe { (self.create)(&mut made.vm, &mut made.env, &mut arguments) };
        (status == JNI_OK).then_some(made)
    }
}

impl Vm {
    fn table(&self) -> &JNINativeInterface_ {
        // SAFETY: the environment of this thread, while it is attached.
        unsafe { &**self.env }
    }

    /// A class by its internal name.
    pub fn class(&self, name: &str) -> Result<jclass, Thrown> {
        let name = CString::new(name).expect("names hold no NUL");
        // SAFETY: this thread's environment, and a C string.
        self.non_null(unsafe { (self.table().v1_6.FindClass)(self.env, name.as_ptr()) })
    }

    /// A static method.
    pub fn method(&self, class: jclass, name: &str, descriptor: &str) -> Result<jmethodID, Thrown> {
        let (name, descriptor) =
            (CString::new(name).expect("no NUL"), CString::new(descriptor).expect("no NUL"));
        // SAFETY: as above; the class is a local reference.
        let method = unsafe {
            (self.table().v1_6.GetStaticMethodID)(
                self.env,
                class,
                name.as_ptr(),
                descriptor.as_ptr(),
            )
        };
        if method.is_null() { Err(Thrown) } else { Ok(method) }
    }

    pub fn call_void(
        &self,
        class: jclass,
        method: jmethodID,
        arguments: &[jvalue],
    ) -> Result<(), Thrown> {
        // SAFETY: the method is the class's, with these parameters.
        unsafe {
            let call = self.table().v1_6.CallStaticVoidMethodA;
            call(self.env, class, method, arguments.as_ptr());
        }
        self.check()
    }

    pub fn call_object(
        &self,
        class: jclass,
        method: jmethodID,
        arguments: &[jvalue],
    ) -> Result<jobject, Thrown> {
        // SAFETY: as above.
        let result = unsafe {
            let call = self.table().v1_6.CallStaticObjectMethodA;
            call(self.env, class, method, arguments.as_ptr())
        };
        self.check()?;
        Ok(result)
    }

    /// A `java.lang.String`.
    pub fn string(&self, text: &str) -> Result<jobject, Thrown> {
        let units: Vec<u16> = text.encode_utf16().collect();
        // SAFETY: the units are read during the call.
        let string =
            unsafe { (self.table().v1_6.NewString)(self.env, units.as_ptr(), units.len() as jint) };
        self.non_null(string)
    }

    pub fn string_array(&self, texts: &[String]) -> Result<jobjectArray, Thrown> {
        let class = self.class("java/lang/String")?;
        // SAFETY: every VM has the table of that version.
        let table = unsafe { &self.table().v1_6 };
        // SAFETY: a class reference of this thread.
        let array = unsafe {
            (table.NewObjectArray)(self.env, texts.len() as jint, class, std::ptr::null_mut())
        };
        let array = self.non_null(array)?;
        for (i, text) in texts.iter().enumerate() {
            let string = self.string(text)?;
            // SAFETY: an index inside the array, and references of this thread.
            unsafe {
                (table.SetObjectArrayElement)(self.env, array, i as jint, string);
                (table.DeleteLocalRef)(self.env, string);
            }
        }
        Ok(array)
    }

    /// Prints the pending exception with its stack trace, and clears it.
    pub fn describe_exception(&self) {
        // SAFETY: this thread's environment.
        unsafe { (self.table().v1_6.ExceptionDescribe)(self.env) }
    }

    /// Ends the main thread in Java, which reports an exception that is still pending, and waits for the
    /// program's other threads.
    pub fn destroy(self) -> Result<(), ()> {
        // SAFETY: the VM is alive until here.
        unsafe {
            let table = &(**self.vm).v1_4;
            let detached = (table.DetachCurrentThread)(self.vm);
            let destroyed = (table.DestroyJavaVM)(self.vm);
            if detached == JNI_OK && destroyed == JNI_OK { Ok(()) } else { Err(()) }
        }
    }

    fn check(&self) -> Result<(), Thrown> {
        // SAFETY: this thread's environment.
        match unsafe { (self.table().v1_6.ExceptionCheck)(self.env) } {
            true => Err(Thrown),
            false => Ok(()),
        }
    }

    fn non_null(&self, object: jobject) -> Result<jobject, Thrown> {
        if object.is_null() { Err(Thrown) } else { Ok(object) }
    }
}
